"""What a form holds right now: its parts with the names that a browser knows them by, and as many rows as there are.

Rows are known by keys of their own, so that one can go without the others changing their names; a hidden input per row says
which there are, in which order.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from engine.kernel.signals import Json
from engine.presentation.forms.schema import CANNOT, GROUP, ROWS, Part

ACT = "rows"
"""The name of buttons that change the form and do not answer it: their values are `add NAME` and `remove NAME KEY` for rows,
`use VALUE NAME` for another value of a field, `clear NAME` for a section, and `drop FILE NAME` for a file, its name quoted."""
MOST_ROWS = 100
ROW_KEY = re.compile(r"\d{1,6}")
BLANK = "__{}__"
"""The key of the row that the page's script copies, by the depth of its rows."""


def changed(data: Any) -> Any:
    """Return what was sent, after the button by which a person uses another value or clears a section."""
    act, _space, about = data.get(ACT, "").partition(" ") if data is not None else ("", "", "")
    if act not in ("use", "clear", "drop"):
        return data
    after = data.copy()
    if act == "drop":
        file, _space, name = about.partition(" ")
        after.setlist(name, [one for one in after.getlist(name) if one != unquote(file)])
    if act == "use":
        value, _space, name = about.partition(" ")
        after[name] = value
    for name in [name for name in after if act == "clear" and name.startswith(f"{about}.")]:
        del after[name]
    return after


@dataclass(frozen=True, slots=True)
class Begun:
    """What a record begins with: a draft's own values, and no defaults where the draft left them empty."""

    given: Mapping[str, Json]
    draft: Mapping[str, Json] | None = None

    def value(self, part: Part) -> Json:
        """Return what one value begins with."""
        if self.draft is not None and part.kind != CANNOT and not part.is_read_only:
            return self.draft.get(part.key)
        return self.given.get(part.key, part.schema.get("default", part.only_value))

    def inside(self, part: Part) -> "Begun":
        """Return what a nested record begins with."""
        draft = _mapping(self.draft.get(part.key)) if self.draft is not None else None
        return Begun(_mapping(self.given.get(part.key, part.schema.get("default"))), draft)

    def rows(self, part: Part) -> list["Begun"]:
        """Return what each row begins with; a list that must not be empty has a row to begin with."""
        found = self.value(part)
        records = [_mapping(record) for record in found] if isinstance(found, list) else []
        if self.draft is not None:
            return [Begun({}, record) for record in records]
        least = max(int(part.schema.get("minItems", 0)), int(part.required), len(records))
        return [Begun(record) for record in records] + [Begun({})] * (min(least, MOST_ROWS) - len(records))


@dataclass(slots=True)
class Row:
    """One row of a list."""

    key: str
    nodes: tuple["Node", ...]


@dataclass(slots=True)
class Node:
    """A part of the form with its name in the browser and what it began with."""

    part: Part
    name: str
    begun: Json = None
    nodes: tuple["Node", ...] = ()
    rows: list[Row] = field(default_factory=list)
    blank: Row | None = None
    """A row to copy, where this is a list."""
    sent: list[int] = field(default_factory=list)
    """Which rows were sent as values, by their place: empty ones are left out."""

    @property
    def is_asked(self) -> bool:
        """Return whether the browser has a field for it."""
        return self.part.kind not in (CANNOT, GROUP, ROWS) and not self.part.is_read_only

    def walk(self) -> Iterator["Node"]:
        """Yield this node and all inside it, but for blank rows."""
        yield self
        for inner in (*self.nodes, *(node for row in self.rows for node in row.nodes)):
            yield from inner.walk()


@dataclass(slots=True)
class Growing:
    """Grow a form's nodes: as the browser sent them, else as they begin."""

    data: Any
    taken: set[str] = field(default_factory=set)

    def nodes(self, parts: Sequence[Part], above: str, begun: Begun, depth: int = 0) -> tuple[Node, ...]:
        """Grow the nodes of one record."""
        return tuple(self._node(part, above, begun, depth) for part in parts)

    def _node(self, part: Part, above: str, begun: Begun, depth: int) -> Node:
        name = self._name(f"{above}.{part.key}")
        node = Node(part, name, begun.value(part))
        if part.kind == GROUP:
            node.nodes = self.nodes(part.parts, name, begun.inside(part), depth)
        if part.kind == ROWS and not part.is_read_only:
            node.rows = self._rows(node, begun, depth)
            blank = Growing(None)
            key = BLANK.format(depth)
            node.blank = Row(key, blank.nodes(part.parts, f"{name}.{key}", Begun({}), depth + 1))
        return node

    def _name(self, wanted: str) -> str:
        while wanted in self.taken:  # a key with a dot may spell another key's path
            wanted += "~"
        self.taken.add(wanted)
        return wanted

    def _rows(self, node: Node, begun: Begun, depth: int) -> list[Row]:
        if self.data is None:
            keyed = {str(place): row for place, row in enumerate(begun.rows(node.part))}
        else:
            keyed = dict.fromkeys(self._keys(node.name), Begun({}))
        return [
            Row(key, self.nodes(node.part.parts, f"{node.name}.{key}", row, depth + 1)) for key, row in keyed.items()
        ]

    def _keys(self, name: str) -> list[str]:
        """Read which rows were sent, after what the person asked for by a button."""
        sent = [key for key in dict.fromkeys(self.data.getlist(name)) if ROW_KEY.fullmatch(key)][:MOST_ROWS]
        act, _space, about = self.data.get(ACT, "").partition(" ")
        if act == "add" and about == name and len(sent) < MOST_ROWS:
            sent.append(str(max(map(int, sent), default=-1) + 1))
        return [key for key in sent if (act, about) != ("remove", f"{name} {key}")]


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
