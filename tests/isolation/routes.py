"""Every address of the product, taken from the URL resolvers themselves: nothing can be added past the matrix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

ARGUMENT = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>[^)]*\)")
PAGE_METHODS = ("GET", "POST")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Route:
    """An address with the names of its arguments, and the methods that it may answer."""

    address: str
    """As the table names it: `api/v1/tasks/<task_id>/`."""
    arguments: tuple[str, ...]
    methods: tuple[str, ...]

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(method for method in METHODS if method not in self.methods)

    def filled(self, values: dict[str, Any]) -> str:
        """Write the arguments in."""
        return "/" + re.sub(r"<(\w+)>", lambda found: str(values[found[1]]), self.address)


def every_route(patterns: Iterable[Any] | None = None, before: str = "") -> Iterator[Route]:
    """List all routes below some patterns; by default those of the whole product."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        below = before + str(pattern.pattern).removeprefix("^").removesuffix("$").removesuffix(r"\Z")
        if isinstance(pattern, URLResolver):
            yield from every_route(pattern.url_patterns, below)
        elif isinstance(pattern, URLPattern):
            yield _route(below, pattern)


def _route(written: str, pattern: URLPattern) -> Route:
    arguments = tuple(one or two for one, two in ARGUMENT.findall(written))
    address = ARGUMENT.sub(lambda found: f"<{found[1] or found[2]}>", written)
    return Route(address, arguments, _methods(pattern.callback))


def _methods(view: Any) -> tuple[str, ...]:
    """Ask a REST view which methods it has; a page is asked for both that a browser sends."""
    known = getattr(view, "view_class", None)
    if known is None or not known.__module__.startswith("engine.api"):
        return PAGE_METHODS
    named = set(known.http_method_names)
    found = tuple(method for method in METHODS if method.lower() in named and hasattr(known, method.lower()))
    return tuple(method for method in found if method not in ("HEAD", "OPTIONS")) or ("GET",)
