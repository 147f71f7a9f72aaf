"""Answer expressions that ask who leads a person: the org chart is outside of the kernel, so each slice gets a view of it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engine.kernel.signals import Json

Chart = Callable[[str], str | None]


class _Lent(threading.local):
    chart: Chart | None = None


_lent = _Lent()


@contextmanager
def lend_chart(chart: Chart | None) -> Iterator[None]:
    """Answer `manager_of()` by this function until the block ends; by None nobody has a manager."""
    before, _lent.chart = _lent.chart, chart
    try:
        yield
    finally:
        _lent.chart = before


def manager_of(name: Json) -> str | None:
    """Return the user name of the person who leads a person, or null where nobody does."""
    if name is None or _lent.chart is None:
        return None
    if not isinstance(name, str):
        raise ValueError("manager_of needs a user name")
    return _lent.chart(name)
