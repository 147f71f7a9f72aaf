"""Read a JSON Schema the way a form needs it: what is asked for, by which kind of field, under which conditions.

The schema becomes a tree of parts in the author's order. A part is a field, a group (an object) or rows (a list of objects).
Fields in `then`, `else` or `dependentSchemas` have conditions under which they are asked for; the schema itself
stays the judge of every answer.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from engine.diagram.step_names import label_of
from engine.kernel.signals import Json
from engine.presentation.forms.conditions import Condition, Conditions, Schema

LONG_TEXT = 120
DEEPEST = 6
MOST_EXPANDED = 2_000
"""How many objects a schema may have when what it points to is written out; beyond that nothing more is."""
"""How deep groups and rows may be nested; deeper ones are sent by REST."""
LONG_FORMATS = frozenset({"textarea", "multiline", "markdown"})
KIND_OF_FORMAT = {
    "date": "date",
    "date-time": "moment",
    "time": "time",
    "email": "email",
    "uri": "url",
    "url": "url",
    "file": "file",
}
KIND_OF_TYPE = {"number": "number", "integer": "integer", "boolean": "boolean"}
LINE_TYPES = frozenset({"string", "number", "integer"})
CANNOT, GROUP, ROWS = "cannot", "group", "rows"
FILES = frozenset({"file", "files"})


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that a form asks for. `required` is what the schema says of it; the service has the last word."""

    key: str
    schema: Schema
    required: bool
    kind: str
    parts: tuple["Part", ...] = ()
    """What a group, or each of several rows, holds."""
    when: Conditions = ()
    """All that must hold for it to be asked for at all."""
    needed_when: tuple[Conditions, ...] = ()
    """Each of these makes it required."""

    @property
    def label(self) -> str:
        return label_of(self.key, self.schema)

    @property
    def hint(self) -> str:
        text = self.schema.get("description")
        return text if isinstance(text, str) else ""

    @property
    def is_read_only(self) -> bool:
        return self.schema.get("readOnly") is True

    @property
    def only_value(self) -> Json:
        """Return the value that is fixed; a box that must be ticked is ticked by hand."""
        return None if self.kind == "boolean" else self.schema.get("const")


@dataclass(slots=True)
class _Asked:
    """What a schema asks for, while it is gathered from its properties, branches and conditions."""

    parts: list[tuple[str, Schema, Conditions]] = field(default_factory=list)
    needed: list[tuple[str, Conditions]] = field(default_factory=list)
    forbidden: list[tuple[str, Conditions]] = field(default_factory=list)

    def ask(self, key: str, schema: Any, when: Conditions) -> None:
        """Take a property up; one that is known under wider conditions is only narrowed here."""
        if schema is False:
            self.forbidden.append((key, when))
        elif not any(known == key and when[: len(held)] == held for known, _schema, held in self.parts):
            self.parts.append((key, schema if isinstance(schema, Mapping) else {}, when))


def layout_of(schema: Schema | None) -> tuple[Part, ...]:
    """List what a schema asks for, in the author's order."""
    return _layout(expanded(schema or {}), DEEPEST)


def without_files(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Mark files as impossible to ask for, where there is nothing yet to add them to."""
    return tuple(
        replace(part, parts=without_files(part.parts), kind=CANNOT if part.kind in FILES else part.kind)
        for part in parts
    )


def _layout(schema: Schema, depth: int) -> tuple[Part, ...]:
    asked = _Asked()
    _gather(schema, (), asked)
    return tuple(_part(key, inner, when, asked, depth) for key, inner, when in asked.parts)


def _gather(schema: Any, when: Conditions, asked: _Asked) -> None:
    if not isinstance(schema, Mapping):
        return
    for word, gather in GATHERED.items():
        if word in schema:
            gather(schema, when, asked)


def _properties(schema: Schema, when: Conditions, asked: _Asked) -> None:
    for key, inner in _mapping(schema["properties"]).items():
        asked.ask(key, inner, when)


def _required(schema: Schema, when: Conditions, asked: _Asked) -> None:
    asked.needed += [(key, when) for key in schema["required"] or ()]


def _all_of(schema: Schema, when: Conditions, asked: _Asked) -> None:
    for inner in schema["allOf"]:
        _gather(inner, when, asked)


def _if(schema: Schema, when: Conditions, asked: _Asked) -> None:
    test = schema["if"]
    if isinstance(test, Mapping):
        _gather(schema.get("then"), (*when, Condition(test)), asked)
        _gather(schema.get("else"), (*when, Condition(test, holds=False)), asked)


def _dependent_required(schema: Schema, when: Conditions, asked: _Asked) -> None:
    for key, others in _mapping(schema["dependentRequired"]).items():
        asked.needed += [(other, (*when, Condition({"required": [key]}))) for other in others]


def _dependent_schemas(schema: Schema, when: Conditions, asked: _Asked) -> None:
    for key, inner in _mapping(schema["dependentSchemas"]).items():
        _gather(inner, (*when, Condition({"required": [key]})), asked)


def _variants(word: str) -> Callable[[Schema, Conditions, _Asked], None]:
    def gather(schema: Schema, when: Conditions, asked: _Asked) -> None:
        """Read variants of an object: those told apart by one constant key are chosen by it, others are asked for as they are."""
        variants = [one for one in schema[word] if isinstance(one, Mapping)]
        key = _key_apart(variants)
        if key is None:
            for variant in variants:
                _gather({"properties": variant.get("properties") or {}}, when, asked)
            return
        asked.ask(key, {"title": label_of(key), "oneOf": [_named_constant(one, key) for one in variants]}, when)
        for variant in variants:
            chosen = Condition({"required": [key], "properties": {key: {"const": variant["properties"][key]["const"]}}})
            inner = {name: part for name, part in variant["properties"].items() if name != key}
            _gather({**variant, "properties": inner}, (*when, chosen), asked)

    return gather


def _key_apart(variants: list[Schema]) -> str | None:
    """Find the key that has another constant in each variant."""
    sets = [
        {
            key
            for key, inner in _mapping(one.get("properties")).items()
            if isinstance(inner, Mapping) and "const" in inner
        }
        for one in variants
    ]
    common = set.intersection(*sets) if sets else set()
    return next((key for key in _mapping(variants[0].get("properties")) if key in common), None) if common else None


def _named_constant(variant: Schema, key: str) -> Schema:
    constant = variant["properties"][key]
    title = constant.get("title") or variant.get("title")
    return {"const": constant["const"], **({"title": title} if title else {})}


GATHERED: Mapping[str, Callable[[Schema, Conditions, _Asked], None]] = {
    "properties": _properties,
    "required": _required,
    "allOf": _all_of,
    "oneOf": _variants("oneOf"),
    "anyOf": _variants("anyOf"),
    "if": _if,
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas,
}
"""The words of a schema that ask for something, in the order in which a form shows it."""


def _part(key: str, schema: Schema, when: Conditions, asked: _Asked, depth: int) -> Part:
    needs = [held for known, held in asked.needed if known == key]
    shut = tuple(held[-1].opposite() for known, held in asked.forbidden if known == key and len(held) == len(when) + 1)
    kind = field_kind(schema) if depth else CANNOT
    return Part(
        key=key,
        schema=schema,
        required=any(when[: len(held)] == held for held in needs),
        kind=kind,
        parts=_layout(schema["items"] if kind == ROWS else schema, depth - 1) if kind in (GROUP, ROWS) else (),
        when=(*when, *shut),
        needed_when=tuple(held for held in needs if when[: len(held)] != held),
    )


def type_of(schema: Schema) -> str:
    """Return the one type of a value besides null; empty where it may have several."""
    said = schema.get("type", "object" if "properties" in schema else "")
    names = [name for name in said if name != "null"] if isinstance(said, list) else [said]
    return names[0] if len(names) == 1 and isinstance(names[0], str) else ""


def field_kind(schema: Schema) -> str:
    """Name the kind of field for a value, or say that this page cannot show one."""
    kind = type_of(schema)
    if kind == "boolean" and "const" in schema:  # to be ticked, not chosen
        return "boolean"
    if options_of(schema):
        return "choice"
    refine = KINDS_OF_TYPE.get(kind)
    return refine(schema) if refine else KIND_OF_TYPE.get(kind, CANNOT)


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
    if field_kind(items) == "file":
        return "files"
    return "lines" if type_of(items) in LINE_TYPES else ROWS if field_kind(items) == GROUP else CANNOT


def _kind_of_object(schema: Schema) -> str:
    return GROUP if any(word in schema for word in ("properties", "oneOf", "anyOf", "allOf")) else CANNOT


KINDS_OF_TYPE: Mapping[str, Callable[[Schema], str]] = {
    "string": _kind_of_text,
    "array": _kind_of_list,
    "object": _kind_of_object,
}


def options_of(schema: Schema) -> list[tuple[Json, str]]:
    """List the values a schema allows with their titles: enum, const, or oneOf/anyOf of consts."""
    if "const" in schema:
        return [(schema["const"], _option_title(schema["const"], {}))]
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


def expanded(schema: Schema) -> Schema:
    """Write out what `$ref` points to inside the same schema, as deep as a form can show it."""
    return _Expansion(schema).expanded(schema, 2 * DEEPEST) if "$ref" in json.dumps(schema) else schema


class _Expansion:
    """One schema being written out. A schema that points to itself at several places doubles with every level: it has an end."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._left = MOST_EXPANDED

    def expanded(self, value: Any, depth: int) -> Any:
        if isinstance(value, list):
            return [self.expanded(item, depth) for item in value]
        if not isinstance(value, Mapping):
            return value
        self._left -= 1
        if "$ref" in value:
            beside = {key: item for key, item in value.items() if key != "$ref"}
            found = _pointed_at(self._root, str(value["$ref"])) if depth and self._left > 0 else None
            return {**self.expanded(found, depth - 1), **beside} if isinstance(found, Mapping) else beside
        return {key: self.expanded(item, depth) for key, item in value.items() if key != "$defs"}


def _pointed_at(root: Schema, reference: str) -> Any:
    found: Any = root
    for key in reference.removeprefix("#").strip("/").split("/"):
        found = found.get(key.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found if reference.startswith("#/") else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
