"""Read a document's nodes into canonical values, collecting every finding.

`Reading` is the memory of one pass: findings, the outline of steps, the expressions met and what the template requires.
The readers of single values are in values.py, those of steps in steps.py; all are rows of one table.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.kernel.findings import ERROR, WARNING, WHOLE, Finding, did_you_mean
from engine.kernel.language.custom_kinds import StepKind
from engine.kernel.language.shapes import ABSENT, Field, Shape
from engine.kernel.language.source import Node
from engine.kernel.language.unsupported import NOT_YET
from engine.kernel.signals import Json

ID = re.compile(r"[a-z][a-z0-9_]*")
SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_USUAL_NAMES = ("start", "state", "result", "status", "task", "signal", "instance", "secret", "now")


@dataclass(frozen=True, slots=True)
class Use:
    """An expression in the document."""

    text: str
    node: Node
    offset: int
    path: str
    step: str
    names: frozenset[str]
    """Names that exist at this place."""
    own: frozenset[str]
    """Those of them that an author chose with `as`."""


@dataclass(slots=True)
class Outline:
    """What the checks need to know of a step."""

    id: str
    kind: str
    node: Node
    path: str
    parent: str
    list: str
    own_id: bool
    spec: dict[str, Json] = field(default_factory=dict)


@dataclass(slots=True)
class Mention:
    """A step id that something refers to."""

    id: str
    node: Node
    path: str
    step: str


class Named(NamedTuple):
    """Where something that the tenant must have is named first."""

    node: Node
    path: str


MOST_FINDINGS = 500
MOST_STEPS = 6_000
MOST_EXPRESSIONS = 15_000


class Enough(Exception):
    """The document is so wrong, or so large, that reading on would only take time."""


class Reading:
    """The memory of one pass over a document."""

    def __init__(self, allow_not_yet: bool, above: int = 0) -> None:
        self.allow_not_yet = allow_not_yet
        self.above = above
        """How many lines precede the document in the text that its author sees."""
        self.findings: list[Finding] = []
        self.steps: dict[str, Outline] = {}
        self.uses: list[Use] = []
        self.mentions: list[Mention] = []
        self.functions: dict[str, Named] = {}
        self.decorators: dict[str, Named] = {}
        self.workflows: dict[str, Named] = {}
        self.roles: dict[str, Named] = {}
        self.secrets: dict[str, Named] = {}
        self.secret_uses: list[tuple[str, Named]] = []
        self.called: dict[str, str] = {}
        """The functions that calls name, by the path of the call's request."""
        self.calendars: dict[str, Named] = {}
        self.transports: set[str] = set()
        self.into: set[str] = set()
        self.name: str | None = None
        self.workflow_named: Callable[[str, Json], tuple[int, Mapping[str, Json]] | None] | None = None
        """Returns the workflows that may be embedded; None where they are not known."""
        self.embedded: list[str] = []
        """Where embedded steps were inserted: warnings there belong to their own author."""
        self.kinds: Mapping[str, StepKind] | None = None
        """The step kinds of the project; None where they are not known."""
        self.step_kinds: dict[str, Node] = {}
        self.expanding: tuple[str, ...] = ()
        """Kinds of the project that are being read into steps just now, the outermost first."""
        self.ways: dict[str, Any] | None = None
        """Where the flow can go within the lists that have jumps; made by the checks (validation/paths.py)."""
        self.starter_level = 4
        self.input_schema: dict[str, Json] = {}
        self.names: frozenset[str] = frozenset(_USUAL_NAMES)
        self.own: frozenset[str] = frozenset()
        self.step = ""

    def error(self, node: Node, code: str, message: str, path: str = "", hint: str = "") -> None:
        """Note an error at a node."""
        self.findings.append(Finding(code, ERROR, message, self.line_of(node), node.column, path or WHOLE, hint))
        if len(self.findings) >= MOST_FINDINGS:
            raise Enough

    def warn(self, node: Node, code: str, message: str, path: str = "", hint: str = "") -> None:
        """Note a warning at a node; too many are not told."""
        if len(self.findings) < MOST_FINDINGS:
            where = self.line_of(node), node.column, path or WHOLE
            self.findings.append(Finding(code, WARNING, message, *where, hint))

    def line_of(self, node: Node) -> int:
        """Return the line in the whole text."""
        return node.line + self.above

    def refuse_mass(self, node: Node, what: str, most: int) -> None:
        """Refuse a document that holds more of something than can be checked while its author waits."""
        self.findings.append(
            Finding("too_many", ERROR, f"a template has at most {most:,} {what}", self.line_of(node), node.column)
        )
        raise Enough

    def refuse_not_yet(self, construct: str, node: Node, path: str) -> None:
        """Refuse a construct that the platform does not execute."""
        reason = NOT_YET.get(construct)
        if reason is not None and not self.allow_not_yet:
            word = construct.split(".", 1)[1]
            self.error(node, "not_yet", f"`{word}` is part of the language, but {reason}", path)

    @contextmanager
    def knowing(self, names: tuple[str, ...], own: str | None = None) -> Iterator[None]:
        """Allow expressions to use more names within the block."""
        before = self.names, self.own
        self.names = self.names | set(names) | ({own} if own else set())
        self.own = self.own | ({own} if own else set())
        try:
            yield
        finally:
            self.names, self.own = before

    def use(self, text: str, node: Node, offset: int, path: str) -> None:
        """Remember an expression for the checks."""
        if len(self.uses) >= MOST_EXPRESSIONS:
            self.refuse_mass(node, "expressions", MOST_EXPRESSIONS)
        self.uses.append(Use(text, node, offset, path, self.step, self.names, self.own))


Reader = Callable[[Reading, Node, Field, str], Json]
READERS: dict[str, Reader] = {}


def reads(name: str) -> Callable[[Reader], Reader]:
    """Enter a reader in the table."""

    def enter(reader: Reader) -> Reader:
        READERS[name] = reader
        return reader

    return enter


def read_field(reading: Reading, node: Node, wanted: Field, path: str) -> Json:
    """Read one value with its field's reader, knowing the field's names."""
    with reading.knowing(wanted.names):
        found = READERS[wanted.reader](reading, node, wanted, path)
    if wanted.longest and isinstance(found, str) and len(found) > wanted.longest and "${" not in found:
        reading.error(node, "too_long", f"at most {wanted.longest} characters are allowed here", path)
    return found


def read_shape(reading: Reading, node: Node, shape: Shape, path: str) -> Json:
    """Read an object: known keys only, defaults written out."""
    if node.entries is None:
        return _read_short(reading, node, shape, path)
    out: dict[str, Json] = {}
    for key, (key_node, value) in node.entries.items():
        read_entry(reading, key, key_node, value, shape.name, shape.fields, path, out)
    _check_presence(reading, node, shape, path, out)
    return {key: out[key] for key in shape.fields if key in out}


def _read_short(reading: Reading, node: Node, shape: Shape, path: str) -> Json:
    if shape.short is None:
        reading.error(node, "wrong_type", f"`{shape.name}` must be an object, not {node.kind}", path)
        return ABSENT
    out: dict[str, Json] = {}
    read_entry(reading, shape.short, node, node, shape.name, shape.fields, path, out)
    _check_presence(reading, node, shape, path, out)
    return {key: out[key] for key in shape.fields if key in out}


def read_entry(
    reading: Reading,
    key: str,
    key_node: Node,
    value: Node,
    owner: str,
    fields: Mapping[str, Field],
    path: str,
    out: dict[str, Json],
) -> None:
    """Read one key of an object into `out`, or report it as unknown."""
    here = f"{path}/{key}" if path else key
    wanted = fields.get(key)
    if wanted is None:
        hint = did_you_mean(key, fields)
        reading.error(key_node, "unknown_key", f"`{owner}` has no key `{key}`", here, hint)
        return
    reading.refuse_not_yet(f"{owner}.{key}", key_node, here)
    found = read_field(reading, value, wanted, here)
    if found is not ABSENT:
        out[key] = found


def _check_presence(reading: Reading, node: Node, shape: Shape, path: str, out: dict[str, Json]) -> None:
    given = set(node.entries) if node.entries is not None else {shape.short}
    for key, wanted in shape.fields.items():
        if wanted.required and key not in given:
            reading.error(node, "missing_key", f"`{shape.name}` needs `{key}`", path or key)
        if wanted.default is not ABSENT and key not in given:
            out[key] = wanted.default
    chosen = [key for key in shape.one_of if key in given]
    if shape.one_of and len(chosen) != 1:
        words = ", ".join(f"`{key}`" for key in shape.one_of)
        reading.error(node, "one_of", f"`{shape.name}` needs exactly one of {words}", path)
