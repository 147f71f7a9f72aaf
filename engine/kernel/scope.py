"""Give expressions their names.

State and results belong to the case; a frame may lay its own over them (items, handlers, scopes). Reading goes
outward from the frame. The library's form of the names is built once and kept until something is written.
"""

from typing import TYPE_CHECKING, Any

from engine.kernel.functions import MISSING
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame

if TYPE_CHECKING:
    from engine.kernel.machine import Machine


class Names:
    """The names at one place of the case."""

    __slots__ = ("_activation", "_layers", "_machine", "_names", "_version")

    def __init__(self, machine: "Machine", layers: list[Frame]) -> None:
        self._machine = machine
        self._layers = layers
        self._version = -1
        self._names: dict[str, Json] = {}
        self._activation: Any = None

    def lookup(self, root: str) -> Json:
        """Give the value of a root name, or MISSING."""
        return self._current().get(root, MISSING)

    def activation(self, environment: Any) -> Any:
        """Give the library's form of all names."""
        names = self._current()
        if self._activation is None:
            self._activation = environment.Activation(names)
        return self._activation

    def _current(self) -> dict[str, Json]:
        if self._version != self._machine.version:
            self._version = self._machine.version
            self._names = self._build()
            self._activation = None
        return self._names

    def _build(self) -> dict[str, Json]:
        machine = self._machine
        names = dict(machine.fixed_names())
        names["state"] = laid_over(machine.state, [layer.state for layer in self._layers])
        names["result"] = laid_over(machine.results, [layer.results for layer in self._layers])
        names["status"] = machine.step_status
        for layer in reversed(self._layers):
            names.update(layer.env or {})
        return names


def laid_over(under: dict[str, Json], layers: list[dict[str, Json] | None]) -> dict[str, Json]:
    """Lay inner values over outer ones; layers come innermost first."""
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
        """Give the value of a root name, or MISSING."""
        return self._more[root] if root in self._more else self._under.lookup(root)

    def activation(self, environment: Any) -> Any:
        """Give the library's form of all names."""
        return environment.Activation({**self._under._current(), **self._more})
