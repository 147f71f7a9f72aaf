"""Read single values: texts, conditions, durations, schemas; each reader is a row of the table of readers."""

import re

from engine.kernel.expressions.cel import ExpressionRefused
from engine.kernel.expressions.interpolation import condition_text, pieces
from engine.kernel.findings import did_you_mean
from engine.kernel.forms import schema_problem
from engine.kernel.language.reading.nodes import ID, SLUG, Reading, read_field, read_shape, reads
from engine.kernel.language.shapes import ABSENT, Field
from engine.kernel.language.source import Node
from engine.kernel.signals import Json
from engine.kernel.timing.periods import is_period, parse_moment, parse_period


def _wrong(reading: Reading, node: Node, path: str, wanted: str) -> Json:
    reading.error(node, "wrong_type", f"expected {wanted}, not {_shown(node)}", path)
    return ABSENT


def _shown(node: Node) -> str:
    return node.kind if node.entries is not None or node.items is not None else repr(node.scalar)[:40]


def _is_scalar(node: Node) -> bool:
    return node.entries is None and node.items is None


@reads("text")
def read_text(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read a literal text."""
    if _is_scalar(node) and isinstance(node.scalar, str) and node.scalar.strip():
        return node.scalar
    return _wrong(reading, node, path, "a text")


@reads("textvalue")
def read_textvalue(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read a text that may hold expressions; numbers are taken as written."""
    if not _is_scalar(node) or node.scalar is None or isinstance(node.scalar, bool):
        return _wrong(reading, node, path, "a text")
    return read_value(reading, node, wanted, path) if isinstance(node.scalar, str) else str(node.scalar)


@reads("value")
def read_value(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read any value, remembering the expressions in its texts."""
    if node.entries is not None:
        return {key: read_value(reading, value, wanted, f"{path}/{key}") for key, (_, value) in node.entries.items()}
    if node.items is not None:
        return [read_value(reading, item, wanted, f"{path}/{place}") for place, item in enumerate(node.items)]
    if isinstance(node.scalar, str) and "${" in node.scalar:
        _note_pieces(reading, node, path)
    return node.scalar


def _note_pieces(reading: Reading, node: Node, path: str) -> None:
    try:
        for piece in pieces(node.scalar):
            if piece.expression:
                reading.use(piece.text, node, piece.offset, path)
    except ExpressionRefused as problem:
        reading.error(node, "bad_expression", str(problem), path)


@reads("condition")
def read_condition(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read a condition, bare or in `${…}`; true and false are conditions too."""
    if isinstance(node.scalar, bool):
        return "true" if node.scalar else "false"
    if not _is_scalar(node) or not isinstance(node.scalar, str) or not node.scalar.strip():
        reading.error(
            node, "wrong_type", f"expected a condition, not {_shown(node)}", path,
            "quote a condition that YAML reads as something else",
        )  # fmt: skip
        return ABSENT
    text = condition_text(node.scalar)
    reading.use(text, node, max(node.scalar.find(text), 0), path)
    return text


@reads("duration")
def read_duration(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read an ISO duration, or an expression that gives one."""
    if _has_expression(node):
        return read_value(reading, node, wanted, path)
    try:
        parse_period(str(node.scalar) if isinstance(node.scalar, str) else "")
    except ValueError:
        reading.error(node, "bad_duration", f"{_shown(node)} is not an ISO 8601 duration", path, "P2D, PT30M, PT0.5S")
        return ABSENT
    return node.scalar


@reads("moment")
def read_moment(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read a moment, or an expression that gives one."""
    if _has_expression(node):
        return read_value(reading, node, wanted, path)
    try:
        parse_moment(node.scalar if isinstance(node.scalar, str) else "")
    except ValueError:
        reading.error(node, "bad_moment", f"{_shown(node)} is no moment", path, "2030-01-07T09:00:00Z or ${…}")
        return ABSENT
    return node.scalar


@reads("when_due")
def read_when_due(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read a date that people see: a duration from now, or a moment."""
    if isinstance(node.scalar, str) and is_period(node.scalar):
        return read_duration(reading, node, wanted, path)
    return read_moment(reading, node, wanted, path)


def _has_expression(node: Node) -> bool:
    return isinstance(node.scalar, str) and "${" in node.scalar


@reads("bool")
def read_bool(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read true or false."""
    return node.scalar if isinstance(node.scalar, bool) else _wrong(reading, node, path, "true or false")


@reads("whole")
def read_whole(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read a positive whole number."""
    if isinstance(node.scalar, int) and not isinstance(node.scalar, bool) and node.scalar > 0:
        return node.scalar
    return _wrong(reading, node, path, "a whole number above 0")


_SIZE = re.compile(r"(\d{1,6}) ?(KB|MB)")


@reads("size")
def read_size(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read the size of a file: bytes, or a text such as 500KB or 5MB."""
    found = _SIZE.fullmatch(node.scalar) if isinstance(node.scalar, str) else None
    if found is not None:
        return int(found[1]) * {"KB": 1024, "MB": 1024**2}[found[2]]
    return read_whole(reading, node, wanted, path)


@reads("number")
def read_number(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read a number that is not negative."""
    if isinstance(node.scalar, (int, float)) and not isinstance(node.scalar, bool) and node.scalar >= 0:
        return node.scalar
    return _wrong(reading, node, path, "a number")


@reads("level")
def read_level(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read a level that a floor may be lowered or raised to."""
    if isinstance(node.scalar, int) and not isinstance(node.scalar, bool) and 2 <= node.scalar <= 6:
        return node.scalar
    return _wrong(reading, node, path, "a level from 2 to 6")


@reads("enum")
def read_enum(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read one word of a few."""
    if node.scalar in wanted.options and isinstance(node.scalar, str):
        owner, key = ["head", *path.split("/")][-2:]
        reading.refuse_not_yet(f"{owner}.{key}={node.scalar}", node, path)
        return node.scalar
    hint = did_you_mean(str(node.scalar), wanted.options)
    reading.error(node, "wrong_word", f"expected one of {', '.join(wanted.options)}, not {_shown(node)}", path, hint)
    return ABSENT


@reads("words")
def read_words(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read a list of texts, or one."""
    items = node.items if node.items is not None else [node]
    found = [item.scalar for item in items if isinstance(item.scalar, str) and item.scalar.strip()]
    return found if len(found) == len(items) else _wrong(reading, node, path, "a list of texts")


@reads("shape")
def read_inner(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read an object of a known shape."""
    assert wanted.shape is not None
    return read_shape(reading, node, wanted.shape, path)


@reads("list")
def read_list(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read a list of one kind of thing; a single one needs no list."""
    assert wanted.each is not None
    items = node.items if node.items is not None else [node]
    found = [read_field(reading, item, wanted.each, f"{path}/{place}") for place, item in enumerate(items)]
    return [item for item in found if item is not ABSENT]


@reads("map")
def read_map(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read an object with keys of the author's choice."""
    assert wanted.each is not None
    if node.entries is None:
        return _wrong(reading, node, path, "an object")
    each = wanted.each
    found = {key: read_field(reading, value, each, f"{path}/{key}") for key, (_, value) in node.entries.items()}
    return {key: value for key, value in found.items() if value is not ABSENT}


@reads("schema")
def read_schema(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read a JSON Schema; the order of its fields is written out, for storage does not keep it."""
    if node.entries is None:
        return _wrong(reading, node, path, "a JSON Schema")
    schema = node.plain()
    problem = schema_problem(schema)
    if problem is not None:
        reading.error(node, "bad_schema", f"this is not a valid JSON Schema: {problem}", path)
        return ABSENT
    return _with_order(schema)


def _with_order(schema: Json) -> Json:
    if not isinstance(schema, dict):
        return schema
    out = {key: _with_order(value) for key, value in schema.items() if key != "properties"}
    properties = schema.get("properties")
    if isinstance(properties, dict):
        out["properties"] = {name: _with_order(inner) for name, inner in properties.items()}
        out.setdefault("x-order", list(properties))
    return out


@reads("slug")
def read_slug(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read a workflow's name."""
    if isinstance(node.scalar, str) and SLUG.fullmatch(node.scalar) and len(node.scalar) <= 100:
        return node.scalar
    reading.error(
        node, "bad_name", f"{_shown(node)} is not a valid workflow name", path, "small letters, digits and hyphens"
    )
    return ABSENT


@reads("name")
def read_name(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read a name that expressions will use."""
    if isinstance(node.scalar, str) and ID.fullmatch(node.scalar):
        return node.scalar
    reading.error(node, "bad_name", f"{_shown(node)} is no name", path, "small letters, digits and _")
    return ABSENT


@reads("derived")
def read_derived(_reading: Reading, _node: Node, _wanted: Field, _path: str) -> Json:
    """Pass over what is always computed anew."""
    return ABSENT


@reads("tests")
def read_tests(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read the template's own tests; the simulator checks them when it runs them."""
    if node.items is None:
        return _wrong(reading, node, path, "a list of tests")
    return [item.plain() for item in node.items]
