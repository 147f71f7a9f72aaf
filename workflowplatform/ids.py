"""Make identifiers that sort by time: the database's, wherever this process has heard it."""

import os
import time
from datetime import datetime
from threading import Lock
from uuid import UUID

BEARABLE_NS = 1_000_000_000
"""A clock that is off by less is followed as it is: what an answer takes to travel would only add noise."""

BEARABLE_STAMPS = (BEARABLE_NS // 1_000_000) << 12

_off_ns = 0
_last = 0
_counting = Lock()


def keep_time(now: datetime) -> None:
    """Hear from the database what time it is, so that a machine whose clock is wrong does not put its rows out of order."""
    global _off_ns
    off = int(now.timestamp() * 1_000_000_000) - time.time_ns()
    if abs(off - _off_ns) > BEARABLE_NS:
        _off_ns = off


def uuid7() -> UUID:
    """Return a UUIDv7 (RFC 9562): milliseconds, their fraction, then randomness. One process's ids sort as they were made."""
    stamp = _next_stamp()
    value = (stamp >> 12) << 80 | 0x7 << 76 | (stamp & 0xFFF) << 64 | 0x2 << 62
    return UUID(int=value | int.from_bytes(os.urandom(8), "big") >> 2)


def _next_stamp() -> int:
    """Count 4096 parts of a millisecond; ids of one moment get one part after the other, also while a clock steps back a bit."""
    global _last
    milliseconds, rest = divmod(time.time_ns() + _off_ns, 1_000_000)
    stamp = milliseconds << 12 | rest * 4096 // 1_000_000
    with _counting:
        if 0 <= _last - stamp < BEARABLE_STAMPS:
            stamp = _last + 1
        _last = stamp
    return stamp


def first_id_at(moment: datetime) -> UUID:
    """Return the smallest id that was made at a moment or later, for reading rows by when they were made."""
    return UUID(int=int(moment.timestamp() * 1000) << 80 | 0x7 << 76 | 0x2 << 62)
