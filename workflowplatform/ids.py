"""Make identifiers that sort by time."""

import os
import time
from uuid import UUID


def uuid7() -> UUID:
    """Return a UUIDv7: 48 bits of milliseconds, then randomness (RFC 9562)."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds << 80) | int.from_bytes(os.urandom(10), "big")
    value &= ~(0xF << 76)
    value |= 0x7 << 76
    value &= ~(0x3 << 62)
    value |= 0x2 << 62
    return UUID(int=value)
