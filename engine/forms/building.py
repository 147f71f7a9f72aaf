"""Make a form from a JSON Schema, read its answer as typed JSON, and put the service's errors back at the fields.

The service is the one that validates. A form only translates: schema → fields, text → values, error paths → fields.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from engine.diagram.naming import label_of
from engine.forms.fields import EMPTY, field_for, initial_of
from engine.forms.schema import CANNOT, Group, Path, Property, Schema, layout_of
from engine.forms.values import Fact, facts_of
from engine.kernel.forms import FieldError
from engine.kernel.signals import Json
from engine.models import TaskDraft

COMMENT = "comment"
BESIDE_THE_FIELDS = (("checklist",), ("attachments",), ("file",))
"""Where errors point that belong to no field of the form."""


@dataclass(frozen=True, slots=True)
class Block:
    """What the page draws at one place: a field, a frame of fields, or that a value cannot be shown."""

    label: str
    field: forms.BoundField | None = None
    fields: tuple["Block", ...] = ()
    hint: str = ""
    optional: bool = False
    kept: str = ""
    """The value that stays as it is, where the page cannot show a field for it."""

    @property
    def is_group(self) -> bool:
        return bool(self.fields)


class SchemaForm(forms.Form):
    """The form of a task or of a start."""

    error_css_class = "wf-field--wrong"
    use_required_attribute = False

    def __init__(
        self,
        schema: Schema | None,
        data: Any = None,
        prefill: Mapping[str, Json] | None = None,
        draft: Mapping[str, Json] | None = None,
    ) -> None:
        super().__init__(data)
        self.layout = layout_of(schema)
        self.prefill = dict(prefill or {})
        self.draft = draft
        self.names: dict[Path, str] = {}
        for prop in self._properties():
            self._add(prop)

    def _properties(self) -> Iterator[Property]:
        for part in self.layout:
            yield from part.properties if isinstance(part, Group) else (part,)

    def _add(self, prop: Property) -> None:
        field = field_for(prop)
        if field is None:
            return
        name = "f." + ".".join(prop.path)
        while name in self.fields:  # a key with a dot may spell another key's path
            name += "~"
        self.names[prop.path] = name
        self.fields[name] = field
        self.initial[name] = initial_of(prop, self._prefilled(prop))

    def _prefilled(self, prop: Property) -> Json:
        """Give what a value begins with: a draft's own, and no default where the draft left it empty."""
        if self.draft is not None and prop.kind != CANNOT:
            return _look_up(self.draft, prop.path, None)
        return _look_up(self.prefill, prop.path, prop.schema.get("default"))

    def keys(self) -> frozenset[str]:
        """Name the top-level values that this form asks for."""
        return frozenset(part.path[0] for part in self.layout)

    def blocks(self) -> list[Block]:
        """List what to draw, in the author's order."""
        return [self._group_block(part) if isinstance(part, Group) else self._block(part) for part in self.layout]

    def _group_block(self, group: Group) -> Block:
        return Block(
            group.label, fields=tuple(map(self._block, group.properties)), hint=str(group.schema.get("description", ""))
        )

    def _block(self, prop: Property) -> Block:
        name = self.names.get(prop.path)
        if name:
            return Block(prop.label, field=self[name])
        value = self._prefilled(prop)
        kept = facts_of({"": value})[0] if value is not None else None
        return Block(prop.label, optional=not prop.required, kept=kept.text or _("a list") if kept else "")

    def values(self) -> dict[str, Json]:
        """Give the typed values of a valid form; what the page cannot show stays as it was."""
        found: dict[str, Json] = {}
        for part in self.layout:
            if isinstance(part, Group):
                _place_group(found, part, {prop.path[-1]: self._value(prop) for prop in part.properties})
            else:
                _place(found, part.path[-1], self._value(part))
        return found

    def draft_values(self) -> dict[str, Json]:
        """Give what was typed so far, right or wrong: text that was not understood is kept as it stands."""
        wrong = {name: raw for name in self.names.values() if (raw := self._not_understood(name))}
        self.cleaned_data.update(wrong)
        return self.values()

    def _not_understood(self, name: str) -> str:
        raw = self[name].data if name in self.errors else ""
        return raw if isinstance(raw, str) else ""

    def _value(self, prop: Property) -> Any:
        name = self.names.get(prop.path)
        if name:
            value = self.cleaned_data.get(name, EMPTY)
            return EMPTY if value == [] and not prop.required else value
        kept = self._prefilled(prop)
        return EMPTY if kept is None else kept

    def preview(self) -> list[Fact]:
        """Show what is filled in so far as text, for who may read but not write."""
        return [_preview_fact(prop, self._prefilled(prop)) for prop in self._properties()]

    def typed(self) -> list[Fact]:
        """Show what the person typed, for an answer that was not taken."""
        return [fact for prop in self._properties() for fact in self._typed_fact(prop)]

    def _typed_fact(self, prop: Property) -> list[Fact]:
        name = self.names.get(prop.path)
        raw = self[name].value() if name else None
        return facts_of({prop.path[-1]: raw}, {prop.path[-1]: prop.schema}) if raw not in (None, "", [], False) else []

    def take_errors(self, errors: Sequence[FieldError], within: str = "") -> None:
        """Put the service's errors at their fields; one that fits no field stands at the top with its name.

        `within` is the key under which the service sees the values.
        """
        for error in errors:
            path = read_path(error.path)
            path = path[1:] if within and path[:1] == (within,) else path
            name = self._nearest(path)
            words = error.message if name or not path else f"{label_of(path[-1])}: {error.message}"
            self.add_error(name, words)

    def _nearest(self, path: Path) -> str | None:
        for length in range(len(path), 0, -1):
            if path[:length] in self.names:
                return self.names[path[:length]]
        return None

    def wrong_fields(self) -> list[forms.BoundField]:
        """List the fields with an error, for the summary that leads to them."""
        return [self[name] for name in self.fields if name in self.errors]


@dataclass(frozen=True, slots=True)
class CommentRule:
    """Whether a task takes a comment, and for which outcomes one is needed."""

    asked: bool = False
    needed_for: tuple[str, ...] = ()
    always: bool = False


class TaskForm(SchemaForm):
    """A task's form, with the comment that its rule asks for."""

    def __init__(
        self,
        schema: Schema | None,
        data: Any = None,
        prefill: Mapping[str, Json] | None = None,
        comment: CommentRule | None = None,
        draft: TaskDraft | None = None,
    ) -> None:
        super().__init__(schema, data, prefill, draft.values if draft else None)
        self.kept_draft = draft
        if comment and comment.asked:
            self.fields[COMMENT] = _comment_field(comment)
            self.initial[COMMENT] = draft.comment if draft else ""

    def comment_block(self) -> Block | None:
        """Give the comment's place, if the task takes one."""
        return Block(_("Comment"), field=self[COMMENT]) if COMMENT in self.fields else None

    def typed(self) -> list[Fact]:
        """Show what the person typed, the comment too."""
        comment = self[COMMENT].value() if COMMENT in self.fields else None
        return super().typed() + (facts_of({COMMENT: comment}) if comment else [])

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
                self.add_error(None, error.message)
            else:
                super().take_errors([error], within)

    def _nearest(self, path: Path) -> str | None:
        return super()._nearest(path) or (COMMENT if path == (COMMENT,) and COMMENT in self.fields else None)


def _comment_field(rule: CommentRule) -> forms.Field:
    widget = forms.Textarea({"class": "wf-textarea", "rows": 3})
    field = forms.CharField(required=False, widget=widget, label=_("Comment"))
    field.wide = True  # type: ignore[attr-defined]
    field.optional = not rule.needed_for  # type: ignore[attr-defined]
    if rule.needed_for and not rule.always:
        field.aside = _("needed for: %(outcomes)s") % {"outcomes": ", ".join(rule.needed_for)}  # type: ignore[attr-defined]
    return field


def read_path(path: str) -> Path:
    """Read an error's path, written with points or slashes, as keys; places in lists are left out."""
    keys = (part for part in re.split(r"[./\[\]]+", path) if part)
    return tuple(key for key in keys if not key.isdigit())


def _preview_fact(prop: Property, value: Json) -> Fact:
    return facts_of({prop.path[-1]: value}, {prop.path[-1]: prop.schema})[0]


def _look_up(record: Json, path: Path, default: Json) -> Json:
    for key in path:
        if not isinstance(record, Mapping) or key not in record:
            return default
        record = record[key]
    return record


def _place(found: dict[str, Json], key: str, value: Any) -> None:
    if value is not EMPTY:
        found[key] = value


def _place_group(found: dict[str, Json], group: Group, inner: dict[str, Any]) -> None:
    """Place a nested object, unless it is optional and nothing was filled in."""
    filled = {key: value for key, value in inner.items() if value is not EMPTY}
    if group.required or any(value is not False for value in filled.values()):
        found[group.path[-1]] = filled
