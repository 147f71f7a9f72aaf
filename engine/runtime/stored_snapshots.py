"""Read stored snapshots where a person is answered: what cannot be read is a refusal that says so."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext as _

from engine.errors import Unreadable
from engine.kernel.signals import Json
from engine.kernel.snapshot import Snapshot, UnreadableSnapshot

MISSHAPEN = (UnreadableSnapshot, AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What comes of walking through a value of another shape than the machine writes."""


def read_snapshot(stored: Json) -> Snapshot:
    """Read a snapshot, or raise why it cannot be read."""
    with readable_or_refused():
        return Snapshot.from_json(stored)


@contextmanager
def readable_or_refused() -> Iterator[None]:
    """Turn what comes of an unreadable snapshot into a refusal: where it is read, and where a preview walks through it."""
    try:
        yield
    except MISSHAPEN as problem:
        said = problem if isinstance(problem, UnreadableSnapshot) else f"{type(problem).__name__}: {problem}"
        message = _("The stored state of this instance can't be read: %(problem)s.") % {"problem": said}
        raise Unreadable(message) from problem
