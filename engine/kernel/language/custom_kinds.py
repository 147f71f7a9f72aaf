"""Step kinds that a project registers: a schema for what an author writes, and a pure function that makes steps of it.

The kernel never runs one. It is read into steps of the language before a version is activated, so that the definition holds what
will run and stays the same whatever becomes of the project's code.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.kernel.forms import FieldError, check_values, refuse_unsafe_json
from engine.kernel.signals import Json

LARGEST = 200_000
"""Characters of JSON that a step may become."""


@dataclass(frozen=True, slots=True)
class StepKind:
    """What a registered kind is: `expand` is given the body and the step's id, and gives one step or a list of them."""

    schema: Mapping[str, Any]
    expand: Callable[[Any, str], Any]


class KindFailed(Exception):
    """The project's function did not give steps."""


def checked_body(kind: StepKind, body: Json) -> tuple[Json, list[FieldError]]:
    """Fill in defaults and check a body; an expression is allowed in place of any value."""
    filled, problems = check_values(kind.schema, body)
    return filled, [one for one in problems if not _is_expression(filled, one.path)]


def _is_expression(values: Json, path: str) -> bool:
    for part in path.split(".") if path else ():
        if isinstance(values, dict) and part in values:
            values = values[part]
        elif isinstance(values, list) and part.isdigit() and int(part) < len(values):
            values = values[int(part)]
        else:
            return False
    return isinstance(values, str) and "${" in values


def expanded(kind: StepKind, body: Json, step: str) -> list[Json]:
    """Make the steps of a body; what the function raises, or gives differently the second time, is refused."""
    first, second = (_asked(kind, body, step) for _ in range(2))
    if first != second:
        raise KindFailed("it returns something different each time")
    return first


def _asked(kind: StepKind, body: Json, step: str) -> list[Json]:
    try:
        made = kind.expand(json.loads(json.dumps(body)), step)
        unsafe = refuse_unsafe_json(made)
        text = "" if unsafe else json.dumps(made)
    except Exception as mistake:
        raise KindFailed(f"{type(mistake).__name__} {mistake}"[:300]) from mistake
    if unsafe or len(text) > LARGEST:
        raise KindFailed("it returns something that is not JSON" if unsafe else "it gives too much")
    found = json.loads(text)
    return found if isinstance(found, list) else [found]
