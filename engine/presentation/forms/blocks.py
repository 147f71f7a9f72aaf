"""What the page draws at each place of a form: a field, a frame of fields, rows, a value to read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms.utils import ErrorList
from django.utils.translation import gettext as _

from engine.presentation.forms.conditions import Conditions, condition_words
from engine.presentation.forms.schema import GROUP, ROWS, Part
from engine.presentation.forms.sections import Filled
from engine.presentation.forms.tree import MOST_ROWS, Node, Row
from engine.presentation.forms.values import Fact, fact_of, shown_as


@dataclass(frozen=True, slots=True)
class Line:
    """One row as the page draws it."""

    key: str
    blocks: tuple["Block", ...]
    number: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """What the page draws at one place."""

    label: str
    look: str
    name: str = ""
    field: forms.BoundField | None = None
    blocks: tuple["Block", ...] = ()
    lines: tuple[Line, ...] = ()
    blank: Line | None = None
    hint: str = ""
    optional: bool = False
    fact: Fact | None = None
    """The value that stays as it is, where it is only read."""
    errors: ErrorList | tuple[()] = ()
    when: str = ""
    """The conditions under which it is asked for, for the page's script."""
    only_if: str = ""
    off: bool = False
    begun: bool = False
    """Whether anything is filled in, in a section that may be left out."""
    most: int = MOST_ROWS
    least: int = 0
    flat: bool = False
    """Whether each row fits on one line."""

    @property
    def may_add(self) -> bool:
        return len(self.lines) < self.most


FLAT_KINDS = frozenset({"text", "number", "integer", "date", "time", "email", "choice", "boolean", "url"})
MOST_FLAT = 5


@dataclass(frozen=True, slots=True)
class Drawing:
    """Draw the nodes of one form."""

    form: forms.Form
    blanks: forms.Form
    errors: Mapping[str, list[forms.ValidationError]]
    off: frozenset[str]

    def blocks(self, nodes: tuple[Node, ...], above: str = "f") -> tuple[Block, ...]:
        """Draw one record."""
        schemas = {node.part.key: node.part.schema for node in nodes}
        return tuple(self._block(node, schemas, above) for node in nodes)

    def _block(self, node: Node, schemas: Mapping[str, Any], above: str) -> Block:
        part = node.part
        common: dict[str, Any] = {
            "label": part.label,
            "name": node.name,
            "hint": part.hint,
            "optional": not part.required,
            "errors": ErrorList(self.errors.get(node.name, ())),
            "when": json.dumps([_told(part.when, above)]) if part.when else "",
            "only_if": self._only_if(part, schemas),
            "off": node.name in self.off,
        }
        if node.is_asked:
            return Block(**common, look="field", field=self._field(node, schemas))
        if part.kind == GROUP and not part.is_read_only:
            begun = not part.required and self._is_begun(node)
            return Block(**common, look="group", blocks=self.blocks(node.nodes, node.name), begun=begun)
        if part.kind == ROWS and not part.is_read_only:
            return self._rows(node, common)
        fact = fact_of(part.key, node.begun, part.schema) if node.begun is not None else None
        return Block(**common, look="read" if part.is_read_only else "cannot", fact=fact)

    def _is_begun(self, node: Node) -> bool:
        """Return whether a section has something to clear; a row that is only there to be copied has nothing."""
        in_form = all(inner.name in self.form.fields for inner in node.walk() if inner.is_asked)
        return in_form and Filled(self.form, self.off).is_begun(node.nodes)

    def _only_if(self, part: Part, schemas: Mapping[str, Any]) -> str:
        if not part.when:
            return ""
        words = condition_words(part.when, schemas, shown_as)
        return _("Only if %(condition)s") % {"condition": words} if words else _("Only in some cases")

    def _field(self, node: Node, schemas: Mapping[str, Any]) -> forms.BoundField:
        bound = (self.blanks if node.name in self.blanks.fields else self.form)[node.name]
        needed = [condition_words(conditions, schemas, shown_as) for conditions in node.part.needed_when]
        if needed and all(needed) and not node.part.required:
            bound.field.aside = _("needed if %(condition)s") % {"condition": _(" or ").join(needed)}  # type: ignore[attr-defined]
            bound.field.optional = False  # type: ignore[attr-defined]
        return bound

    def _rows(self, node: Node, common: dict[str, Any]) -> Block:
        part = node.part
        assert node.blank
        return Block(
            **common,
            look="rows",
            lines=tuple(self._line(node, row, place) for place, row in enumerate(node.rows, 1)),
            blank=self._line(node, node.blank, 0),
            most=min(int(part.schema.get("maxItems", MOST_ROWS)), MOST_ROWS),
            least=int(part.schema.get("minItems", 0)),
            flat=len(part.parts) <= MOST_FLAT
            and all(inner.kind in FLAT_KINDS and not inner.when and not inner.hint for inner in part.parts),
        )

    def _line(self, node: Node, row: Row, number: int) -> Line:
        return Line(row.key, self.blocks(row.nodes, f"{node.name}.{row.key}"), number)


def _told(conditions: Conditions, above: str) -> dict[str, Any]:
    """Write conditions for the page's script: tests of the record whose fields begin with a name."""
    return {"within": above, "tests": [{"test": one.test, "holds": one.holds} for one in conditions]}
