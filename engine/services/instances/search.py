"""Find instances by what people know of them: what they wait for, and what their business state holds."""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from django.db.models import Exists, OuterRef, Q

from engine.errors import Invalid
from engine.kernel.forms import FieldError, refuse_unsafe_json
from engine.models import Wait


def waits_for(kinds: Iterable[str]) -> Exists:
    """Return the condition for instances that wait for one of these kinds."""
    return Exists(Wait.objects.filter(instance_id=OuterRef("pk"), side=False, kind__in=list(kinds)))


def state_holds(path: Sequence[str], text: str) -> Q:
    """Match business state at a path; what reads as JSON matches as such, and as the text it is."""
    values: list[Any] = [text]
    with suppress(ValueError, RecursionError):
        values.append(json.loads(text))
    if refuse_unsafe_json([*path, values]):
        name = f"state.{'.'.join(path)}"
        message = f"{name} is not valid.".replace("\0", "")
        raise Invalid(message, [FieldError(name, "invalid", message)])
    return Q(*(Q(state__contains=_nested(list(path), value)) for value in values), _connector=Q.OR)


def _nested(path: list[str], value: Any) -> Any:
    return {path[0]: _nested(path[1:], value)} if path else value
