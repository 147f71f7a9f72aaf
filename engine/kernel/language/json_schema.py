"""Make the JSON Schema of the language from its shapes, for editors: completion, hints and quick checks while typing.

The normaliser has the last word; the schema never refuses what it would take.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache

from engine.kernel.language.shapes import ATTRIBUTES, BESIDE, HEAD, IN_GRAPH, Field, Shape
from engine.kernel.language.step_shapes import KINDS
from engine.kernel.signals import Json

ANYTHING: Mapping[str, Json] = {}
STEPS: Mapping[str, Json] = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/step"}}, {"$ref": "#/$defs/step"}]}


def language_schema(own: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Return the schema of a whole template; `own` are the schemas of the step kinds of the project, by name."""
    whole = _language_schema()
    return {**whole, "$defs": {"step": _step(own)}} if own else whole


@lru_cache(maxsize=1)
def _language_schema() -> dict[str, Json]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "workflow/v1",
        **_object(HEAD),
        "$defs": {"step": _step()},
    }


def _step(own: Mapping[str, Json] | None = None) -> dict[str, Json]:
    own = own or {}
    beside = {key: field for fields in BESIDE.values() for key, field in fields.items()}
    fields = {**ATTRIBUTES, **IN_GRAPH, **beside, **KINDS}
    properties = {name: _field(field) for name, field in fields.items()} | dict(own)
    return {
        "anyOf": [
            {"const": "exit"},
            {
                "type": "object",
                "properties": {**properties, "path": {"type": "string"}, "auto_id": {"type": "boolean"}},
                "additionalProperties": False,
                "oneOf": [{"required": [kind]} for kind in (*KINDS, *own)],
            },
            _jump_alone(properties),
        ]
    }


def _jump_alone(properties: Mapping[str, Json]) -> dict[str, Json]:
    """Return the schema of a step that only says where the flow continues."""
    alone = ("id", "title", "description", "when", "tags", "next")
    return {
        "type": "object",
        "properties": {name: properties[name] for name in alone},
        "additionalProperties": False,
        "required": ["next"],
    }


def _object(shape: Shape) -> dict[str, Json]:
    required = [name for name, field in shape.fields.items() if field.required]
    found: dict[str, Json] = {
        "type": "object",
        "properties": {name: _field(field) for name, field in shape.fields.items()},
        "additionalProperties": False,
    }
    return {**found, "required": required} if required else found


def _field(field: Field) -> Json:
    make = SCHEMAS.get(field.reader)
    return dict(make(field)) if make is not None else dict(ANYTHING)


def _shaped(field: Field) -> Json:
    assert field.shape is not None
    whole = _object(field.shape)
    if field.shape.short is None:
        return whole
    return {"anyOf": [whole, _field(field.shape.fields[field.shape.short])]}


def _words(_field_: Field) -> Json:
    return {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


def _listed(field: Field) -> Json:
    assert field.each is not None
    each = _field(field.each)
    return {"anyOf": [{"type": "array", "items": each}, each]}


def _mapped(field: Field) -> Json:
    assert field.each is not None
    return {"type": "object", "additionalProperties": _field(field.each)}


def _typed(name: str, **more: Json) -> Callable[[Field], Json]:
    return lambda field: {"type": name, **more}


SCHEMAS: Mapping[str, Callable[[Field], Json]] = {
    "text": _typed("string"),
    "slug": _typed("string", pattern="^[a-z][a-z0-9]*(-[a-z0-9]+)*$"),
    "id": _typed("string", pattern="^[a-z][a-z0-9_]*$"),
    "ref": _typed("string"),
    "name": _typed("string"),
    "bool": _typed("boolean"),
    "whole": _typed("integer", minimum=1),
    "number": _typed("number", minimum=0),
    "level": _typed("integer", minimum=2, maximum=6),
    "schema": _typed("object"),
    "form": _typed("object"),
    "state_keys": _typed("object"),
    "tests": _typed("array"),
    "enum": lambda field: {"enum": list(field.options)},
    "words": _words,
    "refs": _words,
    "decorators": _words,
    "condition": lambda field: {"type": ["string", "boolean"]},
    "steps": lambda field: {**STEPS},
    "shape": _shaped,
    "loop": _shaped,
    "embeddable": _shaped,
    "list": _listed,
    "map": _mapped,
}
"""What an editor may check of a field, by its reader; of the rest it says nothing."""
