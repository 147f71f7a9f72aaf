"""Read a JSON Schema the way a form needs it: which kind of field, under which label, with which options."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.diagram.naming import label_of
from engine.kernel.signals import Json

Schema = Mapping[str, Any]
Path = tuple[str, ...]

LONG_TEXT = 120
LONG_FORMATS = frozenset({"textarea", "multiline", "markdown"})
KIND_OF_FORMAT = {"date": "date", "date-time": "moment", "time": "time", "email": "email", "uri": "url", "url": "url"}
KIND_OF_TYPE = {"number": "number", "integer": "integer", "boolean": "boolean"}
LINE_TYPES = frozenset({"string", "number", "integer"})
CANNOT = "cannot"


@dataclass(frozen=True, slots=True)
class Property:
    """One value that a form asks for. `required` is what the schema says of it; the service has the last word."""

    path: Path
    schema: Schema
    required: bool
    kind: str

    @property
    def label(self) -> str:
        return label_of(self.path[-1], self.schema)

    @property
    def hint(self) -> str:
        text = self.schema.get("description")
        return text if isinstance(text, str) else ""


@dataclass(frozen=True, slots=True)
class Group:
    """A nested object: one level deep, drawn as a frame with its fields."""

    path: Path
    schema: Schema
    required: bool
    properties: tuple[Property, ...]

    @property
    def label(self) -> str:
        return label_of(self.path[-1], self.schema)


def layout_of(schema: Schema | None) -> list[Property | Group]:
    """List what a schema asks for, in the author's order."""
    return [_part(path, part, required) for path, part, required in _members(schema or {}, ())]


def _members(schema: Schema, above: Path) -> Iterator[tuple[Path, Schema, bool]]:
    properties = schema.get("properties")
    required = schema.get("required") or ()
    for name, part in (properties or {}).items() if isinstance(properties, Mapping) else ():
        yield (*above, name), part if isinstance(part, Mapping) else {}, name in required


def _part(path: Path, schema: Schema, required: bool) -> Property | Group:
    if type_of(schema) == "object" and schema.get("properties"):
        inner = tuple(Property(*member, kind_of(member[1])) for member in _members(schema, path))
        return Group(path, schema, required, inner)
    return Property(path, schema, required, kind_of(schema))


def type_of(schema: Schema) -> str:
    """Name the one type a value has beside null; empty where it may have several."""
    said = schema.get("type", "")
    names = [name for name in said if name != "null"] if isinstance(said, list) else [said]
    return names[0] if len(names) == 1 and isinstance(names[0], str) else ""


def kind_of(schema: Schema) -> str:
    """Name the kind of field for a value, or say that this page cannot show one."""
    if options_of(schema):
        return "choice"
    kind = type_of(schema)
    if kind == "string":
        return _kind_of_text(schema)
    if kind == "array":
        return _kind_of_list(schema)
    return KIND_OF_TYPE.get(kind, CANNOT)


def _kind_of_text(schema: Schema) -> str:
    wanted = schema.get("format")
    if wanted in KIND_OF_FORMAT:
        return KIND_OF_FORMAT[wanted]
    return "long" if wanted in LONG_FORMATS or schema.get("maxLength", 0) > LONG_TEXT else "text"


def _kind_of_list(schema: Schema) -> str:
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return CANNOT
    if options_of(items):
        return "choices"
    return "lines" if type_of(items) in LINE_TYPES else CANNOT


def options_of(schema: Schema) -> list[tuple[Json, str]]:
    """List the values a schema allows with their titles: enum, const, or oneOf/anyOf of consts."""
    if "const" in schema:
        return [(schema["const"], _option_title(schema["const"], schema))]
    if isinstance(schema.get("enum"), list):
        return [(value, _option_title(value, {})) for value in schema["enum"] if value is not None]
    several = schema.get("oneOf") or schema.get("anyOf") or []
    if several and all(isinstance(one, Mapping) and "const" in one for one in several):
        return [(one["const"], _option_title(one["const"], one)) for one in several if one["const"] is not None]
    return []


def _option_title(value: Json, schema: Schema) -> str:
    if isinstance(schema.get("title"), str):
        return str(schema["title"])
    return value if isinstance(value, str) else key_of(value)


def key_of(value: Json) -> str:
    """Write an option's value as the text that a browser sends back."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
