"""Read what only human tasks have: to whom they are offered, their form, their outcomes."""

from datetime import timedelta

from engine.kernel.findings import did_you_mean
from engine.kernel.language.reading.nodes import Named, Reading, reads
from engine.kernel.language.reading.values import read_schema, read_value
from engine.kernel.language.shapes import ABSENT, Field
from engine.kernel.language.source import Node
from engine.kernel.signals import Json
from engine.kernel.timing.periods import Period, parse_period

READERS_READY = True
LONGEST_OUTCOME = 100
LONGEST_UNDO = timedelta(hours=1)
OUTCOME_KEYS = ("title", "reject", "comment", "secure", "undo")
RESERVED_FIELDS = frozenset({"outcome", "by", "at", "comment", "expired", "operated"})


@reads("principals")
def read_principals(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read roles or people: names, or expressions that give them."""
    found = read_value(reading, node, wanted, path)
    if node.entries is not None or not (node.items is not None or isinstance(node.scalar, str)):
        reading.error(node, "wrong_type", "expected a list of names", path)
        return ABSENT
    items = [node] if node.items is None else node.items
    for item in items:
        if path.rsplit("/", 1)[-1] == "roles" and isinstance(item.scalar, str) and "${" not in item.scalar:
            reading.roles.setdefault(item.scalar, Named(item, path))
    return [found] if node.items is None and "${" not in str(found) else found


@reads("form")
def read_form(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read a task's form: a JSON Schema of an object whose fields do not hide the answer's own."""
    schema = read_schema(reading, node, wanted, path)
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name in sorted(RESERVED_FIELDS & set(properties or ())):
        reading.error(node, "reserved_field", f"a form may not have a field `{name}`", path)
    return schema


@reads("outcomes")
def read_outcomes(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read outcomes, a list of names or an object; canonical is a list, because buttons have an order."""
    if node.entries is not None:
        return [_outcome(reading, key, value, path) for key, (_, value) in node.entries.items()]
    if node.items is None:
        reading.error(node, "wrong_type", "`outcomes` is a list or an object", path)
        return ABSENT
    return [_listed_outcome(reading, item, path) for item in node.items]


def _listed_outcome(reading: Reading, node: Node, path: str) -> Json:
    if node.entries is not None and "name" in node.entries:
        return _outcome(reading, str(node.entries["name"][1].scalar), node, path)
    if not isinstance(node.scalar, str):
        reading.error(node, "wrong_type", "an outcome is a name", path)
    return _outcome(reading, str(node.scalar), Node(node.line, node.column), path)


def _outcome(reading: Reading, name: str, node: Node, path: str) -> Json:
    given = {key: value.scalar for key, (_, value) in (node.entries or {}).items()}
    for key, (key_node, _) in (node.entries or {}).items():
        if key not in ("name", *OUTCOME_KEYS):
            hint = did_you_mean(key, OUTCOME_KEYS)
            reading.error(key_node, "unknown_key", f"an outcome has no key `{key}`", path, hint)
    if len(name) > LONGEST_OUTCOME:
        reading.error(node, "too_long", f"an outcome's name has at most {LONGEST_OUTCOME} characters", path)
    title = given.get("title") or name.replace("_", " ").capitalize()
    out = {"name": name, "title": title, "reject": bool(given.get("reject", False))}
    out |= {"comment": given["comment"]} if given.get("comment") else {}
    out |= {"secure": True} if given.get("secure") else {}
    return out | _undo_of_outcome(reading, node, path)


def _undo_of_outcome(reading: Reading, node: Node, path: str) -> dict[str, Json]:
    if "undo" not in (node.entries or {}):
        return {}
    written = read_undo_time(reading, (node.entries or {})["undo"][1], UNDO_TIME, path)
    return {} if written is ABSENT else {"undo": written}


UNDO_TIME = Field("undo_time")


@reads("undo_time")
def read_undo_time(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read how long an answer can be taken back: a plain duration of at most an hour, so that a page can count it down."""
    found = _plain_period(reading, node, path, "undo", "PT10S; PT0S switches it off")
    if found is not None and found.length > LONGEST_UNDO:
        reading.error(node, "undo_too_long", "an answer can be taken back for at most an hour", path, "PT10S")
        return ABSENT
    return ABSENT if found is None else node.scalar


@reads("pause_time")
def read_pause_time(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read how long a question may stop a task's clock: a plain duration, so that a page can say it beforehand."""
    found = _plain_period(reading, node, path, "at_most", "P2D")
    if found is not None and found == Period(0, timedelta(0)):
        reading.error(node, "bad_duration", "`at_most` is longer than nothing", path, "P2D")
        return ABSENT
    return ABSENT if found is None else node.scalar


def _plain_period(reading: Reading, node: Node, path: str, key: str, hint: str) -> Period | None:
    """Read a duration that no expression computes."""
    try:
        return parse_period(node.scalar if isinstance(node.scalar, str) else "")
    except ValueError:
        text = f"`{key}` is an ISO 8601 duration, such as {hint.split(';')[0]}; it cannot be computed"
        reading.error(node, "bad_duration", text, path, hint)
        return None
