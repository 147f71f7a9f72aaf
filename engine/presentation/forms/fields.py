"""Turn what a browser sends, always text, into typed JSON values: one field class a kind.

A field left empty yields EMPTY, which is left out of the values: whether that is allowed the service decides, as it
decides everything else about the values. Fields only refuse what cannot be understood as their type at all.
"""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from typing import Any, Final

from django import forms
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from engine.kernel.signals import Json
from engine.presentation.forms.conditions import Schema
from engine.presentation.forms.numbers import read_amount, read_number, read_whole, signs, typed_text
from engine.presentation.forms.schema import Part, key_of, options_of, type_of
from engine.presentation.forms.values import shown_as

EMPTY: Final = object()
INPUT = {"class": "wf-input"}
WIDE = frozenset({"long", "choices", "lines", "boolean", "file", "files"})


def read_date(text: str) -> Json:
    """Read a date as ISO text."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise forms.ValidationError(_("Enter a date as year-month-day, such as 2026-11-30."), code="date") from error


def read_time(text: str) -> Json:
    """Read a time of day as ISO text with seconds and no offset."""
    try:
        return time.fromisoformat(text).isoformat()
    except ValueError as error:
        raise forms.ValidationError(_("Enter a time as hours:minutes, such as 14:30."), code="time") from error


def read_moment(text: str) -> Json:
    """Read a local date and time as RFC 3339 in UTC."""
    try:
        found = parse_datetime(text)
    except ValueError:
        found = None
    if found is None:
        raise forms.ValidationError(_("Enter date and time, such as 2026-11-30 14:30."), code="moment")
    aware = found if timezone.is_aware(found) else timezone.make_aware(found)
    return aware.astimezone(UTC).isoformat().replace("+00:00", "Z")


def read_text(text: str) -> Json:
    """Keep text as written, with one kind of line end."""
    return text.replace("\r\n", "\n")


class TextField(forms.CharField):
    """Text that `read` understands as a value."""

    read: Callable[[str], Json] = staticmethod(read_text)

    def __init__(self, part: Part, read: Callable[[str], Json], widget: forms.Widget) -> None:
        super().__init__(required=False, widget=widget)
        self.read = read

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        return self.read(text) if text else EMPTY


class ChoiceField(forms.ChoiceField):
    """One of the options, given back as the typed value that the schema lists."""

    def __init__(self, part: Part) -> None:
        options = options_of(part.schema)
        self.typed = {key_of(value): value for value, _title in options}
        titles = [(key_of(value), title) for value, title in options]
        super().__init__(
            required=False, choices=[("", _("Choose…")), *titles], widget=forms.Select({"class": "wf-select"})
        )

    def clean(self, value: Any) -> Any:
        key = super().clean(value)
        return self.typed[key] if key else EMPTY


class ChoicesField(forms.MultipleChoiceField):
    """Any number of the options."""

    def __init__(self, part: Part) -> None:
        options = options_of(part.schema["items"])
        self.typed = {key_of(value): value for value, _title in options}
        titles = [(key_of(value), title) for value, title in options]
        super().__init__(required=False, choices=titles, widget=forms.CheckboxSelectMultiple)

    def clean(self, value: Any) -> Any:
        return [self.typed[key] for key in super().clean(value)]


class BooleanField(forms.BooleanField):
    def __init__(self, part: Part) -> None:
        super().__init__(required=False)


class FileNames(forms.Widget):
    """The files chosen so far, by name; the page draws them as boxes that can be unticked, and a place to add more."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        return [word for word in data.getlist(name) if word]


class FileField(forms.Field):
    """Names of files that were added to the task: one, or any number."""

    def __init__(self, part: Part) -> None:
        super().__init__(required=False, widget=FileNames())
        self.several = part.kind == "files"

    def clean(self, value: Any) -> Any:
        names = list(dict.fromkeys(value or ()))
        return names if self.several else (names[-1] if names else EMPTY)


class LinesField(forms.CharField):
    """A list of plain values, one a line."""

    def __init__(self, part: Part) -> None:
        super().__init__(required=False, widget=forms.Textarea({"class": "wf-textarea", "rows": 3}))
        self.read = READERS.get(type_of(part.schema["items"]), read_text)

    def clean(self, value: Any) -> Any:
        lines = [line.strip() for line in super().clean(value).splitlines()]
        return [self.read(line) for line in lines if line]


READERS: Mapping[str, Callable[[str], Json]] = {"number": read_number, "integer": read_whole}


def _text(read: Callable[[str], Json], kind: str = "text", **attrs: Any) -> Callable[[Part], forms.Field]:
    widget_attrs = {**INPUT, "type": kind, **attrs}
    return lambda part: TextField(part, read, forms.TextInput(widget_attrs))


_number = _text(read_number, inputmode="decimal", autocomplete="off")
_amount = _text(read_amount, inputmode="decimal", autocomplete="off")

FIELDS: Mapping[str, Callable[[Part], forms.Field]] = {
    "text": _text(read_text),
    "long": lambda part: TextField(part, read_text, forms.Textarea({"class": "wf-textarea", "rows": 3})),
    "number": lambda part: (_amount if "x-unit" in part.schema else _number)(part),
    "integer": _text(read_whole, inputmode="numeric", autocomplete="off"),
    "date": _text(read_date, "date"),
    "time": _text(read_time, "time"),
    "moment": _text(read_moment, "datetime-local"),
    "email": _text(read_text, "email"),
    "url": _text(read_text, "url"),
    "boolean": BooleanField,
    "choice": ChoiceField,
    "choices": ChoicesField,
    "lines": LinesField,
    "file": FileField,
    "files": FileField,
}

HINTS: Mapping[str, str] = {"maxLength": "maxlength", "formatMinimum": "min", "formatMaximum": "max"}
"""What a browser may know beforehand; the service decides."""


def field_for(part: Part) -> forms.Field:
    """Make the field for a value."""
    field = FIELDS[part.kind](part)
    field.label, field.help_text = part.label, part.hint or _limits(part.schema)
    field.widget.attrs |= {name: part.schema[word] for word, name in HINTS.items() if word in part.schema}
    field.widget.attrs["data-kind"] = part.kind
    if part.required and (part.kind != "boolean" or "const" in part.schema):
        field.widget.attrs["data-needed"] = True
    field.kind = part.kind  # type: ignore[attr-defined]
    field.unit = str(part.schema.get("x-unit", ""))  # type: ignore[attr-defined]
    field.wide = part.kind in WIDE  # type: ignore[attr-defined]
    field.optional = not part.required and part.kind != "boolean"  # type: ignore[attr-defined]
    return field


def _limits(schema: Schema) -> str:
    """Return the limits of a number where its author says nothing else."""
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        return _("From %(least)s to %(most)s.") % {"least": _limit(least, schema), "most": _limit(most, schema)}
    return _("Up to %(most)s.") % {"most": _limit(most, schema)} if most is not None else ""


def _limit(value: Json, schema: Schema) -> str:
    """Write a limit as the values below it are read, whole amounts without cents: €50,000."""
    return shown_as(value, schema).replace(f"{signs()[0]}00", "")


def initial_of(part: Part, value: Json) -> Any:
    """Write a stored value as the field shows it."""
    writers: Mapping[str, Callable[[Any], Any]] = {
        "choice": key_of,
        "choices": lambda chosen: [key_of(one) for one in chosen] if isinstance(chosen, list) else [],
        "lines": lambda listed: "\n".join(map(_plain, listed)) if isinstance(listed, list) else _plain(listed),
        "boolean": bool,
        "number": lambda number: _plain(number, is_amount="x-unit" in part.schema),
        "moment": _local_moment,
        "file": lambda name: [str(name)],
        "files": lambda names: [str(name) for name in names] if isinstance(names, list) else [],
    }
    return "" if value is None else writers.get(part.kind, _plain)(value)


def _plain(value: Json, *, is_amount: bool = False) -> str:
    if isinstance(value, float) or (is_amount and type(value) is int):
        return typed_text(value, is_amount=is_amount)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _local_moment(value: Json) -> str:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return str(value)
    local = timezone.localtime(found) if timezone.is_aware(found) else found
    return local.strftime("%Y-%m-%dT%H:%M")
