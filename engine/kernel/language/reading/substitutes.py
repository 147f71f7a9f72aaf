"""Read steps that represent others: a bare jump, an embedded workflow, a kind that the project registered.

What they represent is inserted where they are written, and read as if the author had written it there.
"""

from engine.kernel.findings import did_you_mean
from engine.kernel.language.custom_kinds import KindFailed, checked_body, expanded
from engine.kernel.language.embedding import embedded_body, embedded_names
from engine.kernel.language.reading.nodes import ID, Reading, read_shape, reads
from engine.kernel.language.shapes import ABSENT, Field
from engine.kernel.language.source import Node
from engine.kernel.language.step_shapes import KINDS
from engine.kernel.signals import Json


def with_jump_alone(node: Node) -> Node:
    """Read a step that only says where the flow continues as an empty group that jumps."""
    entries = node.entries or {}
    if "next" not in entries or any(key in KINDS for key in entries):
        return node
    return Node(node.line, node.column, entries={**entries, "group": (node, Node(node.line, node.column, items=[]))})


def with_own_kind(reading: Reading, node: Node) -> Node:
    """Read `name: body`, where the project has registered the name, as `ext: {type: name, with: body}`."""
    entries = node.entries or {}
    own = [key for key in entries if key in (reading.kinds or {})]
    if len(own) != 1 or any(key in KINDS for key in entries):
        return node
    key_node, body = entries[own[0]]
    inside = {"type": (key_node, Node(key_node.line, key_node.column, own[0])), "with": (key_node, body)}
    whole = Node(body.line, body.column, entries=inside)
    kept = {
        ("ext" if key == own[0] else key): (pair if key != own[0] else (key_node, whole))
        for key, pair in entries.items()
    }
    return Node(node.line, node.column, entries=kept)


@reads("embeddable")
def read_embeddable(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read which workflow a step runs: a child, or one whose steps are put in here."""
    assert wanted.shape is not None
    known = set(reading.workflows)
    found = read_shape(reading, _embedding(reading, node, path), wanted.shape, path)
    looked_up = (
        isinstance(found, dict) and found.get("embed") and ("steps" in found or reading.workflow_named is not None)
    )
    if looked_up and found.get("name") not in known:
        reading.workflows.pop(found.get("name"), None)  # it is in here, or was asked for already: nobody else needs it
    return found


def _embedding(reading: Reading, node: Node, path: str) -> Node:
    """Put the steps of the workflow named into the node that embeds it."""
    entries = dict(node.entries or {})
    if "use_parent_scope" in entries:
        entries["embed"] = entries.pop("use_parent_scope")
    wanted = entries["embed"][1].scalar is True if "embed" in entries else False
    if wanted:
        reading.embedded.append(f"{path}/steps")
    if wanted and "steps" not in entries:
        name, version = (entries[key][1].scalar if key in entries else None for key in ("name", "version"))
        entries |= _looked_up(reading, node, path, str(name), version or "latest")
    return Node(node.line, node.column, node.scalar, entries, node.items, node.quoted) if entries else node


def _looked_up(reading: Reading, node: Node, path: str, name: str, version: Json) -> dict[str, tuple[Node, Node]]:
    find = reading.workflow_named
    child = find(name, version) if find is not None and name != reading.name else None
    if name == reading.name or (child is not None and reading.name in embedded_names(child[1])):
        text = f"`{name}` cannot be embedded in `{reading.name}`: it would contain itself"
        reading.error(node, "embeds_itself", text, path, "remove `embed`: a child may be the same workflow")
        return {}
    if find is None:
        return {}  # nobody knows the tenant here: it is looked up when the version is saved and activated
    if child is None:
        text = f"there is no active version of `{name}` that could be embedded"
        reading.error(node, "unknown_workflow", text, path, "activate it first, or remove `embed`")
        return {}
    return _node({"version": child[0], **embedded_body(child[1], reading.step)}, node).entries or {}


def _node(value: Json, at: Node) -> Node:
    """Return a value as if it were written where another node is."""
    if isinstance(value, dict):
        entries = {key: (Node(at.line, at.column, key), _node(inner, at)) for key, inner in value.items()}
        return Node(at.line, at.column, entries=entries)
    if isinstance(value, list):
        return Node(at.line, at.column, items=[_node(inner, at) for inner in value])
    return Node(at.line, at.column, value)


@reads("own_kind")
def read_own_kind(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read a step of a kind that the project registered, and put in the steps that it becomes."""
    assert wanted.shape is not None
    if node.entries is None:
        reading.error(node, "wrong_type", "`ext` must be an object, not " + node.kind, path)
        return ABSENT
    entries = dict(node.entries)
    if "with" not in entries:
        body = {key: entries.pop(key) for key in list(entries) if key not in ("type", "steps")}
        entries["with"] = (node, Node(node.line, node.column, entries=body))
    before = reading.expanding
    if "type" in entries and "steps" not in entries and reading.kinds is not None:
        entries |= _own_steps(reading, node, path, str(entries["type"][1].scalar), entries["with"][1].plain())
    found = read_shape(reading, Node(node.line, node.column, entries=entries), wanted.shape, path)
    reading.expanding = before
    return found


def _own_steps(reading: Reading, node: Node, path: str, name: str, body: Json) -> dict[str, tuple[Node, Node]]:
    """Check a body and make steps of it; errors are reported at the step."""
    kind = (reading.kinds or {}).get(name)
    if kind is None:
        return {}  # said when its name is read
    filled, problems = checked_body(kind, body)
    for problem in problems:
        text = f"`{name}` does not take this: {problem.path or 'it'}: {problem.message}"
        reading.error(node, "bad_kind_body", text, path)
    if problems:
        return {}
    try:
        if name in reading.expanding:
            raise KindFailed("it becomes a step of its own kind")
        steps = expanded(kind, filled, reading.step)
    except KindFailed as problem:
        reading.error(node, "kind_failed", f"the step kind `{name}` could not be read into steps: {problem}", path)
        return {}
    reading.expanding = (*reading.expanding, name)
    reading.embedded.append(f"{path}/steps")
    return _node({"with": filled, "steps": steps}, node).entries or {}


@reads("own_type")
def read_own_type(reading: Reading, node: Node, _wanted: Field, path: str) -> Json:
    """Read the name of a step kind of the project."""
    if not isinstance(node.scalar, str) or not ID.fullmatch(node.scalar):
        reading.error(node, "bad_name", f"{node.scalar!r:.60} is no name", path, "small letters, digits and _")
        return ABSENT
    reading.step_kinds.setdefault(node.scalar, node)
    if reading.kinds is not None and node.scalar not in reading.kinds:
        hint = did_you_mean(node.scalar, reading.kinds)
        reading.error(node, "unknown_step_kind", f"there is no step kind `{node.scalar}`", path, hint)
    return node.scalar


@reads("plain")
def read_plain(_reading: Reading, node: Node, _wanted: Field, _path: str) -> Json:
    """Read a value that others make something of: nothing in it is computed."""
    return node.plain()
