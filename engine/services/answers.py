"""What an answer holds that its schema alone cannot judge: files that must be there, values that are not the answerer's."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from engine.kernel.forms import FieldError
from engine.kernel.signals import Json
from engine.models import Task

BESIDE = ("then", "else")
SEVERAL = ("allOf", "oneOf", "anyOf")


def with_read_only(task: Task, values: dict[str, Json]) -> dict[str, Json]:
    """Give read-only values as the task brought them, whatever was sent in their place."""
    asked = (task.form or {}).get("properties") or {}
    fixed = {key for key, inner in asked.items() if isinstance(inner, Mapping) and inner.get("readOnly") is True}
    if not fixed:
        return values
    brought = task.payload if isinstance(task.payload, dict) else {}
    free = {key: value for key, value in values.items() if key not in fixed}
    return free | {key: brought[key] for key in fixed if key in brought}


def missing_files(task: Task, values: Json) -> list[FieldError]:
    """List the values that name a file which nobody added to the task."""
    named = dict(files_named(task.form, values))
    if not named:
        return []
    there = set(task.attachments.values_list("name", flat=True))
    return [
        FieldError(path, "file", _("There is no file called %(name)s here; add it first.") % {"name": name})
        for path, name in named.items()
        if name not in there
    ]


def asks_for_files(schema: Json) -> bool:
    """Tell whether any value of a form is a file."""
    if isinstance(schema, Mapping):
        return schema.get("format") == "file" or any(asks_for_files(inner) for inner in schema.values())
    return isinstance(schema, list) and any(asks_for_files(inner) for inner in schema)


def files_named(schema: Json, values: Json, path: str = "") -> Iterator[tuple[str, str]]:
    """Give path and name of every value that its schema calls a file."""
    if not isinstance(schema, Mapping):
        return
    if schema.get("format") == "file" and isinstance(values, str):
        yield path, values
    for inner_path, inner, value in _inside(schema, values, path):
        yield from files_named(inner, value, inner_path)


def _inside(schema: Mapping[str, Any], values: Json, path: str) -> Iterator[tuple[str, Json, Json]]:
    if isinstance(values, dict):
        for key, inner in (schema.get("properties") or {}).items():
            if key in values:
                yield f"{path}.{key}".lstrip("."), inner, values[key]
    if isinstance(values, list):
        for place, value in enumerate(values):
            yield f"{path}.{place}".lstrip("."), schema.get("items"), value
    for inner in [schema.get(word) for word in BESIDE] + [one for word in SEVERAL for one in schema.get(word) or ()]:
        yield path, inner, values
