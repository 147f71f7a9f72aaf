"""Resolve the names in expressions.

State and results belong to the instance; a frame may lay its own over them (items, handlers, scopes). Reading goes
outward from the frame. Only what an expression reads is looked up and handed to the library.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from engine.kernel.expressions.cel import Reads, bind, covers
from engine.kernel.expressions.functions import MISSING
from engine.kernel.expressions.secret_marks import mark
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame
from engine.kernel.timing.periods import spell_moment

if TYPE_CHECKING:
    from engine.kernel.machine.machine import Machine


class Names:
    """The names at one place of the instance. What was looked up is kept until something is written."""

    __slots__ = ("_bound", "_known", "_layers", "_machine", "_version")

    def __init__(self, machine: "Machine", layers: list[Frame]) -> None:
        self._machine = machine
        self._layers = layers
        self._version = -1
        self._known: dict[str, Json] = {}
        self._bound: dict[Reads, Any] = {}

    def lookup(self, root: str) -> Json:
        """Return the value of a root name, or MISSING."""
        self._look_again()
        if root not in self._known:
            self._known[root] = self._find(root)
        return self._known[root]

    def activation(self, environment: Any, reads: Reads) -> Any:
        """Return the library's form of the names that an expression reads; one that holds more of them serves as well."""
        self._look_again()
        if reads not in self._bound:
            wider = (made for known, made in self._bound.items() if covers(known, reads))
            self._bound[reads] = next(wider, None) or bind(environment, reads, self)
        return self._bound[reads]

    def spend(self, made: int) -> None:
        """Count the size of a value that was made for the instance."""
        self._machine.spend(made)

    def _look_again(self) -> None:
        if self._version != self._machine.version:
            self._version = self._machine.version
            self._known.clear()
            self._bound.clear()

    def _find(self, root: str) -> Json:
        for layer in self._layers:
            if layer.env is not None and root in layer.env:
                return layer.env[root]
        found = ROOTS.get(root)
        return self._machine.received.get(root, MISSING) if found is None else found(self._machine, self._layers)


def _state(machine: "Machine", layers: list[Frame]) -> Json:
    return laid_over(machine.state, [layer.state for layer in layers])


def _result(machine: "Machine", layers: list[Frame]) -> Json:
    return laid_over(machine.results, [layer.results for layer in layers])


def _start(machine: "Machine", _layers: list[Frame]) -> Json:
    return machine.start


def _now(machine: "Machine", _layers: list[Frame]) -> Json:
    return machine.now


def _status(machine: "Machine", _layers: list[Frame]) -> Json:
    return machine.step_status


def _instance(machine: "Machine", _layers: list[Frame]) -> Json:
    facts = machine.facts
    return {
        "id": facts.id,
        "reference": machine.reference,
        "started_by": facts.started_by,
        "started_at": spell_moment(facts.started_at),
        "template": facts.template,
        "version": facts.version,
    }


def _secret(machine: "Machine", _layers: list[Frame]) -> Json:
    return {name: mark(name) for name in machine.definition.canonical["requires"]["secrets"]}


ROOTS: Mapping[str, Callable[["Machine", list[Frame]], Json]] = {
    "state": _state,
    "result": _result,
    "instance": _instance,
    "secret": _secret,
    "start": _start,
    "now": _now,
    "status": _status,
}
"""Where the names come from that every place has; the others were received or belong to a frame."""


def laid_over(under: dict[str, Json], layers: list[dict[str, Json] | None]) -> dict[str, Json]:
    """Merge inner values over outer ones; layers come innermost first."""
    own = [layer for layer in layers if layer]
    if not own:
        return under
    merged = dict(under)
    for layer in reversed(own):
        merged.update(layer)
    return merged


class With:
    """Names with a few more on top, for one evaluation."""

    __slots__ = ("_more", "_under")

    def __init__(self, under: Names, more: dict[str, Json]) -> None:
        self._under = under
        self._more = more

    def lookup(self, root: str) -> Json:
        """Return the value of a root name, or MISSING."""
        return self._more[root] if root in self._more else self._under.lookup(root)

    def activation(self, environment: Any, reads: Reads) -> Any:
        """Return the library's form of the names that an expression reads."""
        return bind(environment, reads, self)

    def spend(self, made: int) -> None:
        """Count the size of a value that was made for the instance."""
        self._under.spend(made)
