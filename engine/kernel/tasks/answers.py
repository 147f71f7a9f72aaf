"""The parts of an answer that its schema does not check: values the task came with, and files.

The services and the simulator use the same rules; only the service that stores a file can see its content.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from engine.kernel.signals import Json
from engine.kernel.tasks.rules import FILE_KINDS, FileRules, TaskRules

BESIDE = ("then", "else")
SEVERAL = ("allOf", "oneOf", "anyOf")


USUAL = FileRules(tuple(FILE_KINDS), 10 * 1024 * 1024, 20, required=False)
"""The rules of a form that asks for files whose author says nothing about them."""


def files_taken(rules: TaskRules, form: Json) -> FileRules | None:
    """Return which files a task takes: by its own rules, or the usual ones where its form asks for files."""
    return rules.files or (USUAL if asks_for_files(form) else None)


def ending_of(name: str) -> str:
    """Return how a name ends, in small letters."""
    return name.rsplit(".", 1)[-1].lower() if "." in name else ""


def asks_for_files(schema: Json) -> bool:
    """Return whether any value of a form is a file."""
    if isinstance(schema, Mapping):
        return schema.get("format") == "file" or any(asks_for_files(inner) for inner in schema.values())
    return isinstance(schema, list) and any(asks_for_files(inner) for inner in schema)


def files_named(schema: Json, values: Json, path: str = "") -> Iterator[tuple[str, str]]:
    """Return path and name of every value that its schema calls a file."""
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


def read_only_kept(form: Json, payload: Json, values: Mapping[str, Json]) -> dict[str, Json]:
    """Return read-only values as the task brought them, whatever was sent in their place."""
    asked = (form.get("properties") or {}) if isinstance(form, Mapping) else {}
    fixed = {key for key, inner in asked.items() if isinstance(inner, Mapping) and inner.get("readOnly") is True}
    if not fixed:
        return dict(values)
    brought = payload if isinstance(payload, Mapping) else {}
    free = {key: value for key, value in values.items() if key not in fixed}
    return free | {key: brought[key] for key in fixed if key in brought}


def brought_values(form: Json, payload: Json) -> dict[str, Json]:
    """Return the values that a form begins with."""
    asked = (form.get("properties") or {}) if isinstance(form, Mapping) else {}
    brought = payload if isinstance(payload, Mapping) else {}
    return {key: brought[key] for key in asked if brought.get(key) is not None}
