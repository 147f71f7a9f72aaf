"""Make a form from a JSON Schema, read its answer as typed JSON, and put the service's errors back at the fields.

The service is the one that validates. A form only translates: schema → fields, text → values, error paths → fields. It leaves
out what a condition of the schema does not ask for, and rows in which nothing was filled in.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from engine.diagram.step_names import label_of
from engine.kernel.forms import FieldError
from engine.kernel.signals import Json
from engine.models import TaskDraft
from engine.presentation.forms.blocks import Block, Drawing
from engine.presentation.forms.conditions import Schema
from engine.presentation.forms.error_messages import said_of
from engine.presentation.forms.fields import EMPTY, field_for, initial_of
from engine.presentation.forms.schema import FILES, GROUP, ROWS, layout_of, without_files
from engine.presentation.forms.tree import ACT, Begun, Growing, Node, Row
from engine.presentation.forms.values import Fact, fact_of, facts_of

COMMENT = "comment"
BESIDE_THE_FIELDS = (("checklist",), ("attachments",), ("file",))
"""Where errors point that belong to no field of the form."""
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wrong:
    """A place that needs attention, for the summary that leads to it."""

    anchor: str
    label: str


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
        """Tell whether a browser must send it in pieces."""
        return any(
            field.kind in FILES
            for field in (*self.fields.values(), *self.blanks.fields.values())
            if hasattr(field, "kind")
        )

    @property
    def asks_for_rows(self) -> bool:
        """Tell whether it was sent to have a row more or less, not to be answered."""
        return self.is_bound and ACT in self.data

    def begun_again(self) -> "SchemaForm":
        """Give the same form with all that was typed as its beginning, and no word about what is wrong."""
        self.is_valid()
        return SchemaForm(self.schema, None, self.prefill, self.draft_values())

    def blocks(self) -> tuple[Block, ...]:
        """List what to draw, in the author's order."""
        off = frozenset(node.name for node in self._off(self.nodes))
        return Drawing(self, self.blanks, self.frame_errors, off).blocks(self.nodes)

    # Values

    def values(self) -> dict[str, Json]:
        """Give the typed values of a valid form; what the page cannot show stays as it was."""
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
            return inner if node.part.required or _is_filled(inner) else EMPTY
        if node.part.kind == ROWS and not node.part.is_read_only:
            return self._rows(node)
        return EMPTY if node.begun is None else node.begun

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

    def draft_values(self) -> dict[str, Json]:
        """Give what was typed so far, right or wrong: text that was not understood is kept as it stands."""
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
        """Show what is filled in so far as text, for who may read but not write."""
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
        """Put the service's errors at their fields; one that fits no field stands at the top with its name.

        `within` is the key under which the service sees the values.
        """
        for error in errors:
            path = read_path(error.path)
            path = path[1:] if within and path[:1] == (within,) else path
            self._take_error(self._nearest(path), path, error)

    def _take_error(self, node: Node | None, path: Path, error: FieldError) -> None:
        message = said_of(error)
        if node is not None and node.is_asked:
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
        """Tell whether anything needs attention."""
        return self.is_bound and bool(self.errors or self.frame_errors)

    def wrong_places(self) -> list[Wrong]:
        """List what needs attention, for the summary that leads there."""
        return list(self._wrong(self.nodes, ""))

    def _wrong(self, nodes: Sequence[Node], about: str) -> Iterator[Wrong]:
        for node in nodes:
            label = about + node.part.label
            if node.name in self.frame_errors:
                yield Wrong(node.name, label)
            if node.is_asked and node.name in self.errors:
                yield Wrong(self[node.name].auto_id, label)
            yield from self._wrong(node.nodes, f"{label}: ")
            for place, row in enumerate(node.rows, 1):
                yield from self._wrong(row.nodes, f"{label} {place}: ")


def _blanks(node: Node) -> list[Row]:
    return [node.blank] if node.blank else []


def _within(row: Row) -> Iterator[Node]:
    """Give all that a blank row holds, blank rows inside it too."""
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


@dataclass(frozen=True, slots=True)
class CommentRule:
    """Whether a task takes a comment, and for which outcomes one is needed."""

    asked: bool = False
    needed_for: tuple[str, ...] = ()
    always: bool = False


def comment_rule(outcomes: Sequence[Mapping[str, Any]], usual: str) -> CommentRule:
    """Say which outcomes need a comment: the task's rule, or the outcome's own."""
    rules = [(outcome, outcome.get("comment") or usual) for outcome in outcomes]
    needed = [
        outcome["title"]
        for outcome, rule in rules
        if rule == "always" or (rule == "on_reject" and outcome.get("reject"))
    ]
    return CommentRule(
        asked=any(rule != "never" for _outcome, rule in rules),
        needed_for=tuple(needed),
        always=len(needed) == len(rules),
    )


class TaskForm(SchemaForm):
    """A task's form, with the comment that its rule asks for."""

    keeps_files = True

    def __init__(
        self,
        schema: Schema | None,
        data: Any = None,
        prefill: Mapping[str, Json] | None = None,
        comment: CommentRule | None = None,
        draft: TaskDraft | None = None,
    ) -> None:
        super().__init__(schema, data, prefill, draft.values if draft else None)
        self.kept_draft, self.comment_rule = draft, comment
        if comment and comment.asked:
            self.fields[COMMENT] = _comment_field(comment)
            self.initial[COMMENT] = draft.comment if draft else ""

    def begun_again(self) -> "TaskForm":
        """Give the same form with all that was typed as its beginning."""
        self.is_valid()
        typed = TaskDraft(values=self.draft_values(), comment=self.comment_typed())
        again = TaskForm(self.schema, None, self.prefill, self.comment_rule, typed)
        again.kept_draft = None
        return again

    def comment_block(self) -> Block | None:
        """Give the comment's place, if the task takes one."""
        return Block(_("Comment"), "field", field=self[COMMENT]) if COMMENT in self.fields else None

    def preview(self) -> list[Fact]:
        """Show what is filled in so far, the draft's comment too."""
        return super().preview() + self._comment_fact()

    def typed(self) -> list[Fact]:
        """Show what the person typed, the comment too."""
        return super().typed() + self._comment_fact()

    def _comment_fact(self) -> list[Fact]:
        comment = self[COMMENT].value() if COMMENT in self.fields else None
        return [replace(fact_of(COMMENT, comment), label=_("Comment"))] if comment else []

    def comment_typed(self) -> str:
        """Give the comment as it was typed, for a draft."""
        return str(self[COMMENT].data or "") if COMMENT in self.fields else ""

    def comment(self) -> str:
        """Give the comment of a valid form."""
        return str(self.cleaned_data.get(COMMENT, ""))

    def take_errors(self, errors: Sequence[FieldError], within: str = "") -> None:
        """Put errors at their fields; those about files and the checklist say by themselves what they mean."""
        for error in errors:
            if read_path(error.path)[:1] in BESIDE_THE_FIELDS:
                self.add_error(None, forms.ValidationError(said_of(error), code=error.code))
            else:
                super().take_errors([error], within)

    def _take_error(self, node: Node | None, path: Path, error: FieldError) -> None:
        if node is None and path == (COMMENT,) and COMMENT in self.fields:
            self.add_error(COMMENT, forms.ValidationError(said_of(error), code=error.code))
        else:
            super()._take_error(node, path, error)

    def wrong_places(self) -> list[Wrong]:
        """List what needs attention, the comment last."""
        comment = [Wrong(self[COMMENT].auto_id, _("Comment"))] if COMMENT in self.errors else []
        return [*super().wrong_places(), *comment]


def _comment_field(rule: CommentRule) -> forms.Field:
    widget = forms.Textarea({"class": "wf-textarea", "rows": 3})
    field = forms.CharField(required=False, widget=widget, label=_("Comment"))
    field.wide = True  # type: ignore[attr-defined]
    field.optional = not rule.needed_for  # type: ignore[attr-defined]
    if rule.needed_for and not rule.always:
        field.aside = _("needed for: %(outcomes)s") % {"outcomes": ", ".join(rule.needed_for)}  # type: ignore[attr-defined]
    return field


def read_path(path: str) -> Path:
    """Read an error's path, written with points, slashes or brackets, as keys and places."""
    return tuple(part for part in re.split(r"[./\[\]]+", path) if part)
