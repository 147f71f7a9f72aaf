"""The throttle slots that an instance wants, has and frees: read from its snapshot, so that none can be forgotten.

The runtime keeps who has which slot; an instance only says what it wants, and is told that it got one.
"""

from typing import NamedTuple

from engine.kernel.snapshot import Snapshot


class Place(NamedTuple):
    """What one run asks for: a place under a key, of so many."""

    key: str
    limit: int
    waits: bool
    """Whether it is still held back."""


def places_of(snapshot: Snapshot | None) -> dict[int, Place]:
    """Return the places that the live steps of an instance have or wait for, by their run."""
    frames = snapshot.frames if snapshot is not None else ()
    asking = ((frame, *frame["place"]) for frame in frames if "place" in frame)
    return {frame["n"]: Place(key, limit, frame.get("held") == "throttle") for frame, key, limit in asking}
