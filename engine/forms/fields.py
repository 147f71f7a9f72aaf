"""Turn what a browser sends, always text, into typed JSON values: one field class a kind.

A field left empty yields EMPTY, which is left out of the values: whether that is allowed the service decides, as it
decides everything else about the values. Fields only refuse what cannot be understood as their type at all.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from typing import Any, Final

from django import forms
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from engine.forms.schema import CANNOT, Property, key_of, options_of, type_of
from engine.forms.values import number_text
from engine.kernel.signals import Json

EMPTY: Final = object()
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
WHOLE = re.compile(r"[+-]?\d+")
LONGEST_NUMBER = 40
INPUT = {"class": "wf-input"}
WIDE = frozenset({"long", "choices", "lines", "boolean"})


def read_number(text: str) -> Json:
    """Read a decimal number; a comma is refused, since it means different things to different people."""
    if len(text) > LONGEST_NUMBER or not NUMBER.fullmatch(text):
        raise forms.ValidationError(_("Write a number with digits and a point, such as 1250.50."))
    return int(text) if WHOLE.fullmatch(text) else float(text)


def read_whole(text: str) -> Json:
    """Read a whole number."""
    if len(text) > LONGEST_NUMBER or not WHOLE.fullmatch(text):
        raise forms.ValidationError(_("Write a whole number, such as 12."))
    return int(text)


def read_date(text: str) -> Json:
    """Read a date as ISO text."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise forms.ValidationError(_("Write a date as year-month-day, such as 2026-11-30.")) from error


def read_time(text: str) -> Json:
    """Read a time of day as ISO text with seconds and no offset."""
    try:
        return time.fromisoformat(text).isoformat()
    except ValueError as error:
        raise forms.ValidationError(_("Write a time as hours:minutes, such as 14:30.")) from error


def read_moment(text: str) -> Json:
    """Read a local date and time as RFC 3339 in UTC."""
    try:
        found = parse_datetime(text)
    except ValueError:
        found = None
    if found is None:
        raise forms.ValidationError(_("Write date and time, such as 2026-11-30 14:30."))
    aware = found if timezone.is_aware(found) else timezone.make_aware(found)
    return aware.astimezone(UTC).isoformat().replace("+00:00", "Z")


def read_text(text: str) -> Json:
    """Keep text as written, with one kind of line end."""
    return text.replace("\r\n", "\n")


class TextField(forms.CharField):
    """Text that `read` understands as a value."""

    read: Callable[[str], Json] = staticmethod(read_text)

    def __init__(self, prop: Property, read: Callable[[str], Json], widget: forms.Widget) -> None:
        super().__init__(required=False, widget=widget)
        self.read = read

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        return self.read(text) if text else EMPTY


class ChoiceField(forms.ChoiceField):
    """One of the options, given back as the typed value that the schema lists."""

    def __init__(self, prop: Property) -> None:
        options = options_of(prop.schema)
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

    def __init__(self, prop: Property) -> None:
        options = options_of(prop.schema["items"])
        self.typed = {key_of(value): value for value, _title in options}
        titles = [(key_of(value), title) for value, title in options]
        super().__init__(required=False, choices=titles, widget=forms.CheckboxSelectMultiple)

    def clean(self, value: Any) -> Any:
        return [self.typed[key] for key in super().clean(value)]


class BooleanField(forms.BooleanField):
    def __init__(self, prop: Property) -> None:
        super().__init__(required=False)


class LinesField(forms.CharField):
    """A list of plain values, one a line."""

    def __init__(self, prop: Property) -> None:
        super().__init__(required=False, widget=forms.Textarea({"class": "wf-textarea", "rows": 3}))
        self.read = READERS.get(type_of(prop.schema["items"]), read_text)

    def clean(self, value: Any) -> Any:
        lines = [line.strip() for line in super().clean(value).splitlines()]
        return [self.read(line) for line in lines if line]


READERS: Mapping[str, Callable[[str], Json]] = {"number": read_number, "integer": read_whole}


def _text(read: Callable[[str], Json], kind: str = "text", **attrs: Any) -> Callable[[Property], forms.Field]:
    widget_attrs = {**INPUT, "type": kind, **attrs}
    return lambda prop: TextField(prop, read, forms.TextInput(widget_attrs))


FIELDS: Mapping[str, Callable[[Property], forms.Field]] = {
    "text": _text(read_text),
    "long": lambda prop: TextField(prop, read_text, forms.Textarea({"class": "wf-textarea", "rows": 3})),
    "number": _text(read_number, inputmode="decimal", autocomplete="off"),
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
}


def field_for(prop: Property) -> forms.Field | None:
    """Make the field for a value, or nothing where this page cannot show one."""
    if prop.kind == CANNOT:
        return None
    field = FIELDS[prop.kind](prop)
    field.label, field.help_text = prop.label, prop.hint
    field.prop = prop  # type: ignore[attr-defined]
    field.wide = prop.kind in WIDE  # type: ignore[attr-defined]
    field.optional = not prop.required and prop.kind != "boolean"  # type: ignore[attr-defined]
    return field


def initial_of(prop: Property, value: Json) -> Any:
    """Write a stored value as the field shows it."""
    writers: Mapping[str, Callable[[Any], Any]] = {
        "choice": key_of,
        "choices": lambda chosen: [key_of(one) for one in chosen] if isinstance(chosen, list) else [],
        "lines": lambda listed: "\n".join(map(_plain, listed)) if isinstance(listed, list) else _plain(listed),
        "boolean": bool,
        "moment": _local_moment,
    }
    return "" if value is None else writers.get(prop.kind, _plain)(value)


def _plain(value: Json) -> str:
    if isinstance(value, float):
        return number_text(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _local_moment(value: Json) -> str:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return str(value)
    local = timezone.localtime(found) if timezone.is_aware(found) else found
    return local.strftime("%Y-%m-%dT%H:%M")
