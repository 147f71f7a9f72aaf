"""Declare the language's functions to the expression library, and those that count before they make.

The library takes an overload for each form of arguments. A refusal of ours comes back as its error with our sentence.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext.ext_bindings import ExtBindings
from cel_expr_python.ext.ext_encoders import ExtEncoders
from cel_expr_python.ext.ext_math import ExtMath
from cel_expr_python.ext.ext_strings import ExtStrings

from engine.kernel.expressions.cost import searching
from engine.kernel.expressions.functions import FUNCTIONS, Function, in_order, replace, split
from engine.kernel.expressions.meter import USED, TooMuch, charge, charge_for, chunks, meter
from engine.kernel.signals import Json

_T = cel.Type
_MIXED: Mapping[str, Callable[[float, float], float]] = {
    "_+_": operator.add,
    "_-_": operator.sub,
    "_*_": operator.mul,
    "_/_": lambda left, right: _divide(left, right),
}


def _divide(left: float, right: float) -> float:
    if right == 0:
        raise ValueError("divide by zero")
    return left / right


_ORDERED = ((_T.INT, _T.INT), (_T.DOUBLE, _T.DOUBLE), (_T.STRING, _T.STRING), (_T.TIMESTAMP,) * 2, (_T.DURATION,) * 2)
_PAIRS: Mapping[str, Callable[[Any, Any], Any]] = {"min": min, "max": max}
"""Functions of two values of one kind, which give back that kind."""


def _declare_pair(name: str) -> Any:
    own = [cel.Overload(f"wf_{name}_{left.name()}", left, [left, right], impl=_PAIRS[name]) for left, right in _ORDERED]
    mixed = [
        cel.Overload(f"wf_{name}_{mark}", _T.DOUBLE, [left, right], impl=_as_floats(_PAIRS[name]))
        for left, right, mark in ((_T.INT, _T.DOUBLE, "id"), (_T.DOUBLE, _T.INT, "di"))
    ]
    return cel.FunctionDecl(f"wf_{name}", own + mixed)


def _declare(name: str, function: Function) -> Any:
    implementation, signatures, result = function
    given = result if result in (_T.DURATION, _T.TIMESTAMP) else _T.DYN  # only under DYN does ENOUGH end an evaluation
    return cel.FunctionDecl(
        f"wf_{name}",
        [
            cel.Overload(f"wf_{name}_{place}", given, list(parameters), impl=_plain(implementation))
            for place, parameters in enumerate(signatures)
        ],
    )


def _plain(implementation: Callable[..., Json]) -> Callable[..., Json]:
    """Turn every failure of a function into a sentence: the library turns exceptions into ERROR values."""

    def call(*arguments: Json) -> Json:
        try:
            if meter.left is not None:
                charge_for(*arguments)
            found = implementation(*arguments)
            _empty(arguments, found)
            if isinstance(found, (list, dict)):
                meter.given.append(found)
            return found
        except TooMuch:
            _empty(arguments, None)
            return ENOUGH
        except (TypeError, KeyError, AttributeError, IndexError, OverflowError) as problem:
            raise ValueError(f"wrong kind of value: {_said(problem)}") from None

    return call


def _said(problem: Exception) -> str:
    """Return what was wrong; for two values that cannot be compared, not which came first: the library keeps no order."""
    return "these cannot be compared with each other" if "not supported between" in str(problem) else str(problem)


ENOUGH = object()
"""What the library cannot take: it ends the evaluation at once, where an error could be ignored by `||`."""


def _at_contains(text: str, part: str) -> bool:
    charge(searching(text, part))
    return part in text


def _at_index_of(text: str, part: str, *begin: int) -> int:
    """Find a text in another as the library does, from a place on."""
    charge(searching(text, part))
    if begin and not 0 <= begin[0] <= len(text):
        raise ValueError("index out of range")
    return text.find(part, *begin)


def _at_last_index_of(text: str, part: str, *begin: int) -> int:
    """Find a text's last place in another as the library does, beginning no later than at a place."""
    charge(searching(text, part))
    if begin and not 0 <= begin[0] <= len(text):
        raise ValueError("index out of range")
    return text.rfind(part, 0, begin[0] + len(part)) if begin else text.rfind(part)


def _at_join(items: list[str], *by: str) -> str:
    if not all(isinstance(item, str) for item in items):
        raise ValueError("join needs a list of texts")
    charge(len(by[0]) * len(items) if by else 0)
    return (by[0] if by else "").join(items)


_AT: Mapping[str, tuple[Callable[..., Json], Sequence[Sequence[Any]]]] = {
    "contains": (_at_contains, [[_T.STRING] * 2]),
    "indexOf": (_at_index_of, [[_T.STRING] * 2, [_T.STRING, _T.STRING, _T.INT]]),
    "lastIndexOf": (_at_last_index_of, [[_T.STRING] * 2, [_T.STRING, _T.STRING, _T.INT]]),
    "replace": (replace, [[_T.STRING] * 3, [_T.STRING] * 3 + [_T.INT]]),
    "split": (split, [[_T.STRING] * 2, [_T.STRING, _T.STRING, _T.INT]]),
    "join": (_at_join, [[_T.LIST], [_T.LIST, _T.STRING]]),
}
"""Methods of the library as functions of ours that count (`expression_cost.REPLACED`)."""


def _declare_at(name: str) -> Any:
    implementation, signatures = _AT[name]
    overloads = [
        cel.Overload(f"wf_at_{name}_{place}", _T.DYN, list(parameters), impl=_plain(implementation))
        for place, parameters in enumerate(signatures)
    ]
    return cel.FunctionDecl(f"wf_at_{name}", overloads)


def _declare_use(name: str) -> Any:
    return cel.FunctionDecl(name, [cel.Overload(f"{name}_0", _T.DYN, [_T.DYN], impl=_asked(USED[name]))])


def _asked(implementation: Callable[[Json], bool]) -> Callable[[Json], Json]:
    def call(value: Json) -> Json:
        try:
            return implementation(value)
        except TooMuch:
            return ENOUGH
        finally:
            _empty((value,), None)

    return call


def _empty(arguments: tuple[Json, ...], found: Json) -> None:
    """Empty the lists and objects that a function was given: the library never lets go of them. They are copies of its own."""
    for given in arguments:
        if isinstance(given, (list, dict)) and given is not found:
            given.clear()


def _declare_mixed(name: str) -> Any:
    operation = _MIXED[name]
    pairs = ((_T.INT, _T.DOUBLE, "id"), (_T.DOUBLE, _T.INT, "di"))
    return cel.FunctionDecl(
        name,
        [
            cel.Overload(f"wf_{name}_{mark}", _T.DOUBLE, [left, right], impl=_as_floats(operation))
            for left, right, mark in pairs
        ],
    )


def _as_floats(operation: Callable[[float, float], float]) -> Callable[[Json, Json], float]:
    return lambda left, right: operation(float(left), float(right))


def extensions() -> list[Any]:
    """Make what carries all functions, mixed arithmetic and the library's own text and number functions.

    Our functions are declared as `wf_name`, because some of their names are taken by methods of the library.
    """
    own = cel.CelExtension(
        "workflow",
        [
            *map(_declare, FUNCTIONS, FUNCTIONS.values()),
            _declare("in_order", (in_order, [[_T.DYN]], _T.DYN)),
            _declare("chunks", (chunks, [[_T.DYN]], _T.DYN)),
            *map(_declare_pair, _PAIRS),
            *map(_declare_mixed, _MIXED),
            *map(_declare_at, _AT),
            *map(_declare_use, USED),
        ],
    )
    return [own, ExtStrings(), ExtMath(), ExtBindings(), ExtEncoders()]
