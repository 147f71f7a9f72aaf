"""Sections of a form and what is still missing in each, for the list next to a long form and the line above its buttons.

What counts as missing is what the schema requires of what is asked for now. A section that may be left out asks for nothing until
it is begun, and neither does a row in which nothing is filled in. The page's script counts by the same rules.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from engine.presentation.forms.schema import FILES, GROUP, ROWS
from engine.presentation.forms.tree import Node

SECTIONS_OF_A_LONG_FORM = 3
FIELDS_OF_A_LONG_FORM = 10


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a form under its own name: a group, rows, files, or fields that follow each other."""

    anchor: str
    label: str
    names: tuple[str, ...]
    """Where the names of its fields begin."""
    missing: int
    is_optional: bool
    """Whether it may be left out and is not begun."""
    files: int = 0

    @property
    def words(self) -> str:
        """Describe how far it is."""
        if self.missing:
            return _("%(n)d missing") % {"n": self.missing}
        if self.files:
            return ngettext("%(n)d file", "%(n)d files", self.files) % {"n": self.files}
        return _("optional") if self.is_optional else _("all filled in")

    @property
    def is_done(self) -> bool:
        return not self.missing and not self.is_optional

    @property
    def fields(self) -> str:
        """Write the names for the page's script."""
        return json.dumps(self.names)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a whole form is."""

    sections: tuple[Section, ...]
    missing: int
    needed: int
    first: str
    """The id of the first field that is missing."""
    fields: int

    @property
    def is_long(self) -> bool:
        """Return whether the page shows the list of sections."""
        several = len(self.sections) >= SECTIONS_OF_A_LONG_FORM
        return several or (len(self.sections) > 1 and self.fields >= FIELDS_OF_A_LONG_FORM)

    @property
    def done(self) -> int:
        return self.needed - self.missing


@dataclass(frozen=True, slots=True)
class Filled:
    """What of a form is filled in: as it was sent, else as it began."""

    form: forms.Form
    off: frozenset[str]

    def is_blank(self, node: Node) -> bool:
        return self.form[node.name].value() in (None, "", False) or self.form[node.name].value() == []

    def is_begun(self, nodes: Sequence[Node]) -> bool:
        """Return whether anything is filled in."""
        return any(inner.is_asked and not self.is_blank(inner) for node in nodes for inner in node.walk())

    def progress(self, nodes: Sequence[Node]) -> Progress:
        """Return how far a form is, section by section."""
        needed = list(self._needed(nodes))
        missing = [node for node in needed if self.is_blank(node)]
        first = str(self.form[missing[0].name].auto_id) if missing else ""
        asked = sum(inner.is_asked for node in nodes for inner in node.walk())
        sections = tuple(self._section(label, some) for label, some in self._runs(nodes))
        return Progress(sections, len(missing), len(needed), first, asked)

    def _needed(self, nodes: Sequence[Node]) -> Iterator[Node]:
        for node in nodes:
            if node.name in self.off or node.part.is_read_only:
                continue
            if node.is_asked and node.part.required and (node.part.kind != "boolean" or "const" in node.part.schema):
                yield node
            elif node.part.kind == GROUP and (node.part.required or self.is_begun(node.nodes)):
                yield from self._needed(node.nodes)
            elif node.part.kind == ROWS:
                begun = [row for row in node.rows if self.is_begun(row.nodes)]
                for row in begun or node.rows[: int(node.part.required)]:
                    yield from self._needed(row.nodes)

    def _runs(self, nodes: Sequence[Node]) -> Iterator[tuple[str, list[Node]]]:
        run: list[Node] = []
        for node in nodes:
            if node.name in self.off:
                continue
            if not (node.part.kind in (GROUP, ROWS) or node.part.kind in FILES) or node.part.is_read_only:
                run += [node] if node.is_asked else []
                continue
            if run:
                yield _("Details"), run
            run = []
            yield node.part.label, [node]
        if run:
            yield _("Details"), run

    def _section(self, label: str, nodes: list[Node]) -> Section:
        first = nodes[0]
        anchor = str(self.form[first.name].auto_id) if first.is_asked else first.name
        missing = sum(self.is_blank(node) for node in self._needed(nodes))
        may_wait = not any(self._needed(nodes)) and not self.is_begun(nodes)
        return Section(anchor, label, tuple(node.name for node in nodes), missing, may_wait, self._files(nodes))

    def _files(self, nodes: Sequence[Node]) -> int:
        asked = [inner for node in nodes for inner in node.walk() if inner.is_asked]
        if any(node.part.kind not in FILES for node in asked):
            return 0
        return sum(len(self.form[node.name].value() or ()) for node in asked)
