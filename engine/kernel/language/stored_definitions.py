"""Decide whether a stored definition has the shape that its readers rely on, by the tables from which it was written.

Rows may hold what no release of this code wrote: SQL by hand, a restored backup, a later release. What is asked here is the
kind of value at each place, not its meaning, so that code that walks a definition that fits needs no guard of its own.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from engine.kernel.language.shapes import ATTRIBUTES, BESIDE, HEAD, IN_GRAPH, Field
from engine.kernel.language.step_shapes import KINDS
from engine.kernel.signals import Json

DERIVED = ("id", "path")
"""Texts that every stored step has, written by its author or not."""
KIND_OF_VALUE: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("shape", "loop", "embeddable", "own_kind", "map", "schema", "form", "state_keys"), dict),
    **dict.fromkeys(("list", "steps", "branches", "handlers", "words", "refs", "outcomes", "tests"), list),
    **dict.fromkeys(("text", "id", "slug", "ref", "zone", "calendar", "cron", "enum", "branch_name", "name"), str),
    "level": int,
    "bool": bool,
}
"""What a value is, by the reader of its field; readers that are not named here leave room for any value."""
TEXTS = frozenset({"words", "refs"})
IN_SCHEMA: Mapping[str, type] = {
    **dict.fromkeys(("required", "enum", "allOf", "anyOf", "oneOf"), list),
    **dict.fromkeys(("title", "description", "format"), str),
    "properties": dict,
}
LEVELS = range(1, 7)
UNREADABLE = "unreadable"
"""The key under which the definition that is shown in place of an unreadable one says where that one does not fit."""


def misfit(canonical: Json) -> str:
    """Return the first place of a stored definition that has another shape than its readers rely on, else nothing."""
    if not isinstance(canonical, dict):
        return "definition"
    wanted = (key for key in ("workflow", "title", "steps") if key not in canonical)
    return next(wanted, "") or next(_in_object(HEAD.fields, canonical, ""), "")


def form_misfit(schema: Json, path: str = "form") -> str:
    """Return the first place of a stored JSON Schema that has another shape than those who draw a form rely on, else nothing."""
    return next(_in_schema(None, schema, path), "")


def stand_in(place: str, sentence: str) -> dict[str, Json]:
    """Return the definition that pages show in place of one that does not fit: a single step, which says so."""
    step = {"id": UNREADABLE, "path": f"steps/{UNREADABLE}", "title": sentence, "fail": {"code": UNREADABLE}}
    return {"workflow": UNREADABLE, "title": sentence, UNREADABLE: place, "steps": [step]}


def _in_object(fields: Mapping[str, Field], given: Mapping[str, Json], path: str) -> Iterator[str]:
    for key, value in given.items():
        if key in fields:
            yield from _in_value(fields[key], value, f"{path}.{key}".lstrip("."))


def _in_value(field: Field, value: Json, path: str) -> Iterator[str]:
    if not isinstance(value, KIND_OF_VALUE.get(field.reader, object)):
        yield path
    elif look := _INSIDE.get(field.reader):
        yield from look(field, value, path)


def _in_steps(_field: Field, steps: Iterable[Json], path: str) -> Iterator[str]:
    for place, step in enumerate(steps):
        yield from _in_step(step, f"{path}.{place}")


def _in_step(step: Json, path: str) -> Iterator[str]:
    kind = next((key for key in step if key in KINDS), "") if isinstance(step, dict) else ""
    if not kind or not all(isinstance(step.get(key), str) for key in DERIVED):
        yield path
        return
    yield from _in_object({**ATTRIBUTES, **IN_GRAPH, **BESIDE.get(kind, {}), kind: KINDS[kind]}, step, path)


def _in_shape(field: Field, value: Mapping[str, Json], path: str) -> Iterator[str]:
    shape = field.shape
    if shape is not None:
        yield from (f"{path}.{key}" for key, each in shape.fields.items() if each.required and key not in value)
        yield from _in_object(shape.fields, value, path)


def _in_shapes(field: Field, values: Iterable[Json], path: str) -> Iterator[str]:
    for place, value in enumerate(values):
        yield from _in_shape(field, value, f"{path}.{place}") if isinstance(value, dict) else (f"{path}.{place}",)


def _in_list(field: Field, values: Iterable[Json], path: str) -> Iterator[str]:
    for place, value in enumerate(values):
        yield from _in_value(field.each, value, f"{path}.{place}") if field.each else ()


def _in_schema(_field: Field | None, schema: Json, path: str) -> Iterator[str]:
    if not isinstance(schema, dict):
        yield path
        return
    yield from (
        f"{path}.{key}" for key, kind in IN_SCHEMA.items() if key in schema and not isinstance(schema[key], kind)
    )
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        yield from _in_schema(None, inner, f"{path}.{name}") if not isinstance(inner, bool) else ()
    if isinstance(schema.get("items"), dict):
        yield from _in_schema(None, schema["items"], f"{path}.items")


def _in_level(_field: Field, value: int, path: str) -> Iterator[str]:
    yield from () if value in LEVELS else (path,)


def _in_map(field: Field, values: Mapping[str, Json], path: str) -> Iterator[str]:
    for key, value in values.items():
        yield from _in_value(field.each, value, f"{path}.{key}") if field.each else ()


def _in_texts(_field: Field, values: Iterable[Json], path: str) -> Iterator[str]:
    yield from (f"{path}.{place}" for place, value in enumerate(values) if not isinstance(value, str))


_INSIDE: Mapping[str, Callable[..., Iterator[str]]] = {
    "steps": _in_steps,
    **dict.fromkeys(("shape", "loop", "embeddable", "own_kind"), _in_shape),
    **dict.fromkeys(("branches", "handlers"), _in_shapes),
    **dict.fromkeys(TEXTS, _in_texts),
    **dict.fromkeys(("schema", "form"), _in_schema),
    "level": _in_level,
    "list": _in_list,
    "map": _in_map,
}
"""How the inside of a value is looked through, by the reader of its field."""
