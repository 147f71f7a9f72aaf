"""Make identifiers that sort by time: the database's, wherever this process has heard it."""

import os
import time
from datetime import datetime
from uuid import UUID

BEARABLE_NS = 1_000_000_000
"""A clock that is off by less is followed as it is: what an answer takes to travel would only add noise."""

_off_ns = 0


def keep_time(now: datetime) -> None:
    """Hear from the database what time it is, so that a machine whose clock is wrong does not put its rows out of order."""
    global _off_ns
    off = int(now.timestamp() * 1_000_000_000) - time.time_ns()
    if abs(off - _off_ns) > BEARABLE_NS:
        _off_ns = off


def uuid7() -> UUID:
    """Return a UUIDv7: 48 bits of milliseconds, then randomness (RFC 9562)."""
    milliseconds = (time.time_ns() + _off_ns) // 1_000_000
    value = (milliseconds << 80) | int.from_bytes(os.urandom(10), "big")
    value &= ~(0xF << 76)
    value |= 0x7 << 76
    value &= ~(0x3 << 62)
    value |= 0x2 << 62
    return UUID(int=value)
