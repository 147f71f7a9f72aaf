"""Make a form from a JSON Schema, read its answer as typed JSON, and put the service's errors back at the fields.

The service is the one that validates. A form only translates: schema → fields, text → values, error paths → fields. It leaves
out what a condition of the schema does not ask for, and rows in which nothing was filled in.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms

from engine.diagram.step_names import label_of
from engine.kernel.forms import FieldError
from engine.kernel.signals import Json
from engine.presentation.forms.blocks import Block, Drawing
from engine.presentation.forms.conditions import Schema
from engine.presentation.forms.error_messages import needed_words, said_of, short_words
from engine.presentation.forms.fields import EMPTY, field_for, initial_of
from engine.presentation.forms.schema import FILES, GROUP, ROWS, layout_of, without_files
from engine.presentation.forms.sections import Filled, Progress
from engine.presentation.forms.tree import ACT, Begun, Growing, Node, Row, changed
from engine.presentation.forms.values import Fact, fact_of, facts_of

ABSENT = frozenset({"required", "file"})
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wrong:
    """A place that needs attention, for the summary that leads to it."""

    anchor: str
    label: str
    words: str = ""
    """What is wrong, in a word or two."""


class SchemaForm(forms.Form):
    """The form of a task or of a start."""

    error_css_class = "wf-field--wrong"
    use_required_attribute = False
    keeps_files = False
    """Whether there is something that files can be added to."""

    def __init__(
        self,
        schema: Schema | None,
        data: Any = None,
        prefill: Mapping[str, Json] | None = None,
        draft: Mapping[str, Json] | None = None,
    ) -> None:
        data = changed(data)
        super().__init__(data)
        self.schema, self.prefill = schema, dict(prefill or {})
        self.blanks = forms.Form()
        self.frame_errors: dict[str, list[forms.ValidationError]] = {}
        parts = layout_of(schema) if self.keeps_files else without_files(layout_of(schema))
        self.nodes = Growing(data).nodes(parts, "f", Begun(self.prefill, draft))
        for node in self._all():
            self._add(self, node)
            for row in _blanks(node):
                for blank in _within(row):
                    self._add(self.blanks, blank)

    def _add(self, form: forms.Form, node: Node) -> None:
        if node.is_asked:
            form.fields[node.name] = field_for(node.part)
            form.initial[node.name] = initial_of(node.part, node.begun)

    def _all(self) -> Iterator[Node]:
        for node in self.nodes:
            yield from node.walk()

    def keys(self) -> frozenset[str]:
        """Name the top-level values that this form asks for."""
        return frozenset(node.part.key for node in self.nodes)

    def file_names(self) -> set[str]:
        """Name the fields that take files."""
        return {node.name for node in self._all() if node.part.kind in FILES and node.is_asked}

    @property
    def takes_files(self) -> bool:
        """Return whether a browser must send it as multipart."""
        return any(
            field.kind in FILES
            for field in (*self.fields.values(), *self.blanks.fields.values())
            if hasattr(field, "kind")
        )

    @property
    def asks_for_rows(self) -> bool:
        """Return whether it was sent to change the form, such as by another row, not as an answer."""
        return self.is_bound and ACT in self.data

    def begun_again(self) -> "SchemaForm":
        """Return the same form with all that was typed as its beginning, and no word about what is wrong."""
        self.is_valid()
        return SchemaForm(self.schema, None, self.prefill, self.draft_values())

    def blocks(self) -> tuple[Block, ...]:
        """List what to draw, in the author's order."""
        off = frozenset(node.name for node in self._off(self.nodes))
        return Drawing(self, self.blanks, self.frame_errors, off).blocks(self.nodes)

    def progress(self) -> Progress:
        """Return how far the form is, section by section."""
        self.is_valid()
        return Filled(self, frozenset(self._off_names)).progress(self.nodes)

    # Values

    def values(self) -> dict[str, Json]:
        """Return the typed values of a valid form; what the page cannot show stays as it was."""
        return self._record(self.nodes)

    def _record(self, nodes: Sequence[Node]) -> dict[str, Json]:
        """Read one record: first what is always asked for, then what those values ask for."""
        found: dict[str, Json] = {}
        for node in sorted(nodes, key=lambda node: bool(node.part.when)):
            if all(condition.met_by(found) for condition in node.part.when):
                _place(found, node.part.key, self._value(node))
        return found

    def _value(self, node: Node) -> Any:
        if node.is_asked:
            value = self.cleaned_data.get(node.name, EMPTY)
            return EMPTY if value == [] and not node.part.required else value
        if node.part.kind == GROUP and not node.part.is_read_only:
            inner = self._record(node.nodes)
            return inner if node.part.required or self._is_begun(node, inner) else EMPTY
        if node.part.kind == ROWS and not node.part.is_read_only:
            return self._rows(node)
        return EMPTY if node.begun is None else node.begun

    def _is_begun(self, node: Node, record: Mapping[str, Json]) -> bool:
        """Return whether a section that may be left out was begun; its defaults alone do not begin it where more is needed."""
        if any(inner.name in self.errors for inner in node.walk()):
            return True
        parts = {part.key: part for part in node.part.parts}
        typed = {key: value for key, value in record.items() if value != parts[key].schema.get("default")}
        needs = any(part.required and part.key not in record for part in parts.values())
        return _is_filled(typed if needs else record)

    def _rows(self, node: Node) -> Any:
        records = [self._record(row.nodes) for row in node.rows]
        node.sent = [place for place, record in enumerate(records) if _is_filled(record)]
        return [records[place] for place in node.sent] or ([] if node.part.required else EMPTY)

    def _off(self, nodes: Sequence[Node]) -> Iterator[Node]:
        """Find what the values so far do not ask for."""
        found = self._begun_record(nodes) if not self.is_bound else self._record(nodes)
        for node in nodes:
            if not all(condition.met_by(found) for condition in node.part.when):
                yield node
                continue
            yield from self._off(node.nodes)
            for row in node.rows:
                yield from self._off(row.nodes)

    def _begun_record(self, nodes: Sequence[Node]) -> dict[str, Json]:
        empty = {node.part.key: False for node in nodes if node.part.kind == "boolean"}
        return empty | {node.part.key: node.begun for node in nodes if node.begun is not None}

    def full_clean(self) -> None:
        """Read all fields; what is wrong in one that nothing asks for does not matter."""
        super().full_clean()
        if not self.is_bound:
            return
        for off in self._off(self.nodes):
            for node in off.walk():
                self.errors.pop(node.name, None)

    def forgive(self) -> None:
        """Forget what could not be read, where the answer does not need it."""
        self.is_valid()
        self.errors.clear()

    def draft_values(self) -> dict[str, Json]:
        """Return what was typed so far, right or wrong: text that was not understood is kept unchanged."""
        return self._typed(self.nodes)

    def _typed(self, nodes: Sequence[Node]) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for node in nodes:
            if node.is_asked:
                _place(found, node.part.key, self._not_understood(node.name) or self._value(node))
            elif node.part.kind == GROUP:
                _place(found, node.part.key, self._typed(node.nodes) or EMPTY)
            elif node.part.kind == ROWS:
                _place(found, node.part.key, [self._typed(row.nodes) for row in node.rows] or EMPTY)
        return found

    def _not_understood(self, name: str) -> str:
        raw = self[name].data if name in self.errors else ""
        return raw if isinstance(raw, str) else ""

    # For reading

    def preview(self) -> list[Fact]:
        """Show what is filled in so far as text, for people who may read but not write."""
        off = self._off_names
        asked = (node for node in self.nodes if node.name not in off and (node.begun is not None or not node.part.when))
        return [fact_of(node.part.key, node.begun, node.part.schema) for node in asked]

    def typed(self) -> list[Fact]:
        """Show what the person typed, for an answer that was not taken."""
        self.is_valid()
        schemas = {node.part.key: node.part.schema for node in self.nodes}
        return facts_of({key: value for key, value in self.draft_values().items() if value is not False}, schemas)

    # Errors

    def take_errors(self, errors: Sequence[FieldError], within: str = "") -> None:
        """Attach the service's errors to their fields; one without a field is shown at the top with its name.

        `within` is the key under which the service sees the values.
        """
        for error in errors:
            path = read_path(error.path)
            path = path[1:] if within and path[:1] == (within,) else path
            self._take_error(self._nearest(path), path, error)

    def _take_error(self, node: Node | None, path: Path, error: FieldError) -> None:
        message = said_of(error)
        if node is not None and node.name in self.errors and error.code in ABSENT:
            return  # what was typed could not be read: to say that it is missing as well helps nobody
        if node is not None and node.is_asked:
            message = needed_words(node.part) if error.code == "required" else message
            self.add_error(node.name, forms.ValidationError(message, code=error.code))
        elif node is not None and (node.nodes or node.rows or node.blank):
            self.frame_errors.setdefault(node.name, []).append(forms.ValidationError(message, code=error.code))
        else:
            words = f"{label_of(path[-1])}: {message}" if path else message
            self.add_error(None, forms.ValidationError(words, code=error.code))

    def _nearest(self, path: Path) -> Node | None:
        """Find the field that an error's path leads to, or the frame around the place."""
        found: Node | None = None
        nodes: Sequence[Node] = self.nodes
        for key in path:
            if found is not None and found.part.kind == ROWS and key.isdigit() and int(key) < len(found.sent):
                nodes = found.rows[found.sent[int(key)]].nodes
                continue
            inner = [node for node in nodes if node.part.key == key]
            if not inner:
                break
            found = next((node for node in inner if node.name not in self._off_names), inner[0])
            nodes = found.nodes
        return found

    @property
    def _off_names(self) -> set[str]:
        return {node.name for node in self._off(self.nodes)}

    @property
    def is_wrong(self) -> bool:
        """Return whether anything needs attention."""
        return self.is_bound and bool(self.errors or self.frame_errors)

    def wrong_places(self) -> list[Wrong]:
        """List what needs attention, for the summary that leads there."""
        return list(self._wrong(self.nodes, ""))

    def _wrong(self, nodes: Sequence[Node], about: str) -> Iterator[Wrong]:
        for node in nodes:
            label = about + node.part.label
            if node.name in self.frame_errors:
                yield Wrong(node.name, label, short_words(self.frame_errors[node.name]))
            if node.is_asked and node.name in self.errors:
                yield Wrong(self[node.name].auto_id, label, short_words(self.errors[node.name].as_data()))
            yield from self._wrong(node.nodes, f"{label}: ")
            for place, row in enumerate(node.rows, 1):
                yield from self._wrong(row.nodes, f"{label} {place}: ")


class StartForm(SchemaForm):
    """The form that starts a request: files are added to its draft."""

    keeps_files = True

    def begun_again(self) -> "StartForm":
        """Return the same form with all that was typed as its beginning, and no word about what is wrong."""
        self.is_valid()
        return StartForm(self.schema, None, self.prefill, self.draft_values())


def _blanks(node: Node) -> list[Row]:
    return [node.blank] if node.blank else []


def _within(row: Row) -> Iterator[Node]:
    """Return all that a blank row holds, blank rows inside it too."""
    for node in row.nodes:
        for inner in node.walk():
            yield inner
            for blank in _blanks(inner):
                yield from _within(blank)


def _is_filled(record: Mapping[str, Json]) -> bool:
    return any(value is not False for value in record.values())


def _place(found: dict[str, Json], key: str, value: Any) -> None:
    if value is not EMPTY:
        found[key] = value


def read_path(path: str) -> Path:
    """Read an error's path, written with points, slashes or brackets, as keys and places."""
    return tuple(part for part in re.split(r"[./\[\]]+", path) if part)
