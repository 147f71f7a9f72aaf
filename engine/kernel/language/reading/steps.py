"""Read steps: ids, kinds, bodies, and what refers to other steps."""

from typing import Any

from engine.kernel.findings import did_you_mean
from engine.kernel.language.reading.nodes import (
    ID,
    MOST_STEPS,
    Mention,
    Named,
    Outline,
    Reading,
    read_entry,
    read_field,
    read_shape,
    reads,
)
from engine.kernel.language.reading.substitutes import with_jump_alone, with_own_kind
from engine.kernel.language.reading.values import read_map, read_slug, read_text, read_value, read_words
from engine.kernel.language.shapes import ABSENT, ATTRIBUTES, BESIDE, IN_GRAPH, Field
from engine.kernel.language.source import Node
from engine.kernel.language.step_shapes import KINDS
from engine.kernel.signals import Json
from engine.kernel.timing.cron import CronError, CronSchedule

READERS_READY = True
"""Importing this module fills the table of readers."""
RESERVED_IDS = frozenset({"start"})
_ALONE = frozenset({"exit"})
"""Kinds that may be written as a bare word instead of an object."""


@reads("steps")
def read_steps(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read a list of steps, or one single step."""
    items = node.items if node.items is not None else [node]
    if node.items is None and node.entries is None and node.scalar is None:
        items = []
    found = [read_step(reading, item, f"{path}/{place}", place) for place, item in enumerate(items)]
    return [step for step in found if step is not ABSENT]


def read_step(reading: Reading, node: Node, path: str, place: int) -> Json:
    """Read one step: its id, its one kind, and its attributes."""
    if node.entries is None and node.scalar in _ALONE:
        node = Node(node.line, node.column, entries={node.scalar: (node, Node(node.line, node.column))})
    if node.entries is None:
        reading.error(node, "wrong_type", f"expected a step, not {node.kind}", path)
        return ABSENT
    node = with_own_kind(reading, with_jump_alone(node))
    kind = _kind(reading, node, path)
    if kind is None:
        return ABSENT
    outline = _enter(reading, node, kind, path, place)
    return _read_inside(reading, node, outline, path)


def _kind(reading: Reading, node: Node, path: str) -> str | None:
    assert node.entries is not None
    kinds = [key for key in node.entries if key in KINDS or key in (reading.kinds or {})]
    if len(kinds) == 1:
        return kinds[0]
    if kinds:
        reading.error(
            node, "two_kinds", f"a step has one kind, not {' and '.join(f'`{kind}`' for kind in kinds)}", path
        )
        return None
    strange = next((key for key in node.entries if key not in ATTRIBUTES), "")
    reading.error(
        node,
        "no_kind",
        "this step has no kind: say what it does",
        path,
        did_you_mean(strange, [*KINDS, *(reading.kinds or ())]),
    )
    return None


def _enter(reading: Reading, node: Node, kind: str, path: str, place: int) -> Outline:
    """Set the step's id and remember it."""
    assert node.entries is not None
    if len(reading.steps) >= MOST_STEPS:
        reading.refuse_mass(node, "steps", MOST_STEPS)
    written = node.entries.get("id")
    auto = written is not None and "auto_id" in node.entries
    name = _written_id(reading, written[1], path) if written is not None else None
    own = name is not None and not auto
    if name is None:
        name = _place_id(reading, kind, place)
    outline = Outline(name, kind, node, path, reading.step, path.rsplit("/", 1)[0], own)
    reading.steps[name] = outline
    return outline


def _written_id(reading: Reading, node: Node, path: str) -> str | None:
    name = node.scalar
    if not isinstance(name, str) or not ID.fullmatch(name) or len(name) > 100:
        reading.error(node, "bad_id", f"{name!r:.60} is no id", path, "small letters, digits and _")
        return None
    if name in RESERVED_IDS:
        reading.error(node, "reserved_id", f"`{name}` is reserved", path)
        return None
    if name in reading.steps:
        line = reading.line_of(reading.steps[name].node)
        reading.error(node, "duplicate_id", f"the id `{name}` is used twice, first in line {line}", path)
        return None
    return name


def _place_id(reading: Reading, kind: str, place: int) -> str:
    prefix = f"{reading.step}_" if reading.step else ""
    name = f"{prefix}{kind}_{place + 1}"
    while name in reading.steps:
        name += "_"
    return name


def _read_inside(reading: Reading, node: Node, outline: Outline, path: str) -> Json:
    assert node.entries is not None
    before, reading.step = reading.step, outline.id
    fields = {**ATTRIBUTES, **IN_GRAPH, **BESIDE.get(outline.kind, {}), "path": _DERIVED, "auto_id": _DERIVED}
    spec = outline.spec
    spec["id"] = outline.id
    if not outline.own_id:
        spec["auto_id"] = True
    reading.refuse_not_yet(f"kind.{outline.kind}", node.entries[outline.kind][0], path)
    for key, (key_node, value) in node.entries.items():
        if key == outline.kind:
            _read_kind(reading, outline, value, path)
        elif key not in fields and (home := next((kind for kind, own in BESIDE.items() if key in own), "")):
            reading.error(key_node, "out_of_place", f"`{key}` is only allowed with `{home}`", f"{path}/{key}")
        elif key != "id":
            read_entry(reading, key, key_node, value, "step", fields, path, spec)
    reading.step = before
    return spec


_DERIVED = Field("derived")


def _read_kind(reading: Reading, outline: Outline, value: Node, path: str) -> None:
    found = read_field(reading, value, KINDS[outline.kind], f"{path}/{outline.kind}")
    if found is not ABSENT:
        outline.spec[outline.kind] = found


@reads("id")
def read_id(_reading: Reading, node: Node, _wanted: Field, _path: str) -> Json:
    """Read an id where it is known to be good."""
    return node.scalar


@reads("ref")
def read_ref(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read the id of another step."""
    if not isinstance(node.scalar, str):
        reading.error(node, "wrong_type", "expected the id of a step", path)
        return ABSENT
    reading.mentions.append(Mention(node.scalar, node, path, reading.step))
    return node.scalar


@reads("refs")
def read_refs(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read ids of other steps."""
    items = node.items if node.items is not None else [node]
    found = [read_ref(reading, item, wanted, path) for item in items]
    return [item for item in found if item is not ABSENT]


@reads("state_keys")
def read_state_keys(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read what `set` writes."""
    if node.entries is None or not node.entries:
        reading.error(node, "wrong_type", "`set` needs keys to write", path)
        return ABSENT
    for key, (key_node, _) in node.entries.items():
        if not key or any(not part for part in key.split(".")):
            reading.error(key_node, "bad_key", f"`{key}` is not a valid key of state", path)
    return read_map(reading, node, Field("map", each=Field("value")), path)


@reads("function")
def read_function(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read the name of a registered function."""
    if not isinstance(node.scalar, str) or not node.scalar.strip():
        reading.error(node, "wrong_type", "expected the name of a function", path)
        return ABSENT
    reading.functions.setdefault(node.scalar, Named(node, path))
    reading.called[path.rpartition("/")[0]] = node.scalar
    return node.scalar


@reads("decorators")
def read_decorators(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read the names of registered decorators."""
    names = read_words(reading, node, wanted, path)
    items = node.items if node.items is not None else [node]
    for name, item in zip(names if names is not ABSENT else (), items, strict=False):
        reading.decorators.setdefault(name, Named(item, path))
    return names


@reads("workflow_name")
def read_workflow_name(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read the name of another workflow."""
    name = read_slug(reading, node, wanted, path)
    if name is not ABSENT:
        reading.workflows.setdefault(name, Named(node, path))
    return name


@reads("version")
def read_version(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read which version of a workflow: latest, same or a number."""
    if node.scalar in ("latest", "same") or (isinstance(node.scalar, int) and node.scalar > 0):
        return node.scalar
    reading.error(node, "wrong_word", "expected latest, same or a version number", path)
    return ABSENT


@reads("cron")
def read_cron(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read when a schedule runs."""
    return _read_schedule(reading, node, path, str(node.scalar), "UTC")


@reads("zone")
def read_zone(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read the zone of a schedule."""
    return _read_schedule(reading, node, path, "@daily", str(node.scalar))


def _read_schedule(reading: Reading, node: Node, path: str, expression: str, zone: str) -> Json:
    try:
        CronSchedule.parse(expression, zone)
    except CronError as problem:
        reading.error(node, problem.code, problem.message, path, problem.hint)
        return ABSENT
    return node.scalar


@reads("calendar")
def read_calendar(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read the name of a business calendar."""
    name = read_text(reading, node, wanted, path)
    if name is not ABSENT:
        reading.calendars.setdefault(name, Named(node, path))
    return name


@reads("into")
def read_into(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read the name under which a call's result is kept."""
    if not isinstance(node.scalar, str) or not ID.fullmatch(node.scalar):
        reading.error(node, "bad_name", f"{node.scalar!r:.60} is no name", path, "small letters, digits and _")
        return ABSENT
    reading.into.add(node.scalar)
    return node.scalar


@reads("join")
def read_join(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read how branches come together: a word or a number."""
    if node.scalar in wanted.options:
        return node.scalar
    if isinstance(node.scalar, int) and not isinstance(node.scalar, bool) and node.scalar > 0:
        return node.scalar
    words = ", ".join(wanted.options)
    reading.error(node, "wrong_word", f"expected one of {words} or a number", path)
    return ABSENT


@reads("loop")
def read_loop(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read a loop, whose body knows the author's name for the item."""
    assert wanted.shape is not None
    named = node.entries.get("as") if node.entries is not None else None
    own = named[1].scalar if named is not None and isinstance(named[1].scalar, str) else None
    with reading.knowing((), own if own and ID.fullmatch(own) else None):
        return read_shape(reading, node, wanted.shape, path)


@reads("branches")
def read_branches(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read named branches; canonical is a list, because their order is the order of opening."""
    assert wanted.shape is not None
    if node.items is not None and all(item.entries and "name" in item.entries for item in node.items):
        return [_branch(reading, wanted, _own_name(item), item, path) for item in node.items]
    if node.items is not None:
        named = [(str(place + 1), item) for place, item in enumerate(node.items)]
        return [_branch(reading, wanted, name, item, path) for name, item in named]
    if node.entries is None:
        reading.error(node, "wrong_type", "`branches` is an object of named branches", path)
        return ABSENT
    return [_branch(reading, wanted, key, value, path) for key, (_, value) in node.entries.items()]


def _own_name(node: Node) -> str:
    assert node.entries is not None
    return str(node.entries["name"][1].scalar)


def _branch(reading: Reading, wanted: Field, name: str, node: Node, path: str) -> Json:
    assert wanted.shape is not None
    whole = node.entries is not None and "steps" in node.entries and not set(node.entries) & set(KINDS)
    entries: Any = node.entries if whole else {"steps": (node, node)}
    shaped = Node(node.line, node.column, entries={key: entries[key] for key in entries if key != "name"})
    found = read_shape(reading, shaped, wanted.shape, f"{path}/{name}")
    return {"name": name, **(found if found is not ABSENT else {})}


@reads("branch_name")
def read_branch_name(_reading: Reading, node: Node, _wanted: Field, _path: str) -> Json:
    """Read a branch's name where it is known to be text."""
    return str(node.scalar)


@reads("handlers")
def read_handlers(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read error handlers: objects with `steps`, or simply the steps that run for every error."""
    assert wanted.shape is not None
    if node.items is not None and not node.items:
        return []
    items = node.items if node.items is not None else [node]
    if all(item.entries is not None and "steps" in item.entries for item in items):
        return [read_shape(reading, item, wanted.shape, f"{path}/{place}") for place, item in enumerate(items)]
    with reading.knowing(("error",)):
        return [{"steps": read_steps(reading, node, wanted, path)}]


@reads("cell")
def read_cell(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read a cell of a decision table: a literal, a list, or bounds."""
    for key, (key_node, _) in (node.entries or {}).items():
        if key not in ("lt", "le", "gt", "ge", "not"):
            reading.error(key_node, "unknown_key", f"a cell has no key `{key}`", path, "lt, le, gt, ge, not")
    return read_value(reading, node, wanted, path)


@reads("cancel")
def read_cancel(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read what to cancel; the word `case` alone is the whole instance."""
    assert wanted.shape is not None
    if node.scalar == "case":
        return {"case": True}
    return read_shape(reading, node, wanted.shape, path)


@reads("exit")
def read_exit(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read which container to leave: the nearest when nothing is said."""
    return None if node.scalar is None else read_ref(reading, node, wanted, path)
