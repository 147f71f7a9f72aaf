"""Show a supervisor what its worker has in hand: memory that both share and that outlives the worker.

A worker that dies cannot say what killed it. So it notes, before a slice, which instances it took and when; a note costs no
system call. When it ends in any way but its own, its successor reads the note and counts that attempt; and while it works the
supervisor sees since when the same things are in hand. Attempts that are counted in the database beforehand are noted without
instances.
"""

import mmap
import struct
import time
from collections.abc import Sequence
from uuid import UUID

HEAD = struct.Struct("=dI")
MOST = 500
"""How many instances a note has room for; a larger batch is noted without the rest."""


class Board:
    """The note of one worker: since when, and which instances."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, HEAD.size + 16 * MOST)  # anonymous and shared: a fork writes into the same pages

    def note(self, instances: Sequence[UUID] = ()) -> None:
        """Note what the worker has in hand from now on."""
        noted = instances[:MOST]
        self._memory[HEAD.size : HEAD.size + 16 * len(noted)] = b"".join(one.bytes for one in noted)
        HEAD.pack_into(self._memory, 0, time.monotonic(), len(noted))

    def clear(self) -> None:
        """Note that nothing is in hand."""
        HEAD.pack_into(self._memory, 0, 0.0, 0)

    @property
    def seconds(self) -> float:
        """Return for how long the same work is in hand; the clock is the machine's, the same in every process."""
        since: float = HEAD.unpack_from(self._memory)[0]
        return time.monotonic() - since if since else 0.0

    def left(self) -> list[UUID]:
        """Return the instances that were in hand and whose attempt nobody has counted."""
        count = HEAD.unpack_from(self._memory)[1]
        noted = self._memory[HEAD.size : HEAD.size + 16 * count]
        return [UUID(bytes=noted[place : place + 16]) for place in range(0, len(noted), 16)]


class Desk:
    """Where this process notes: a board of its own until a supervisor gives it one."""

    def __init__(self) -> None:
        self.board = Board()


desk = Desk()
