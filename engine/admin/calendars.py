"""Business calendars as a form: hours per weekday, and one line per holiday or half day.

The form builds the content that `engine.kernel.timing.calendars` reads, and shows its refusals at the fields.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, cast

from django import forms
from django.contrib import admin
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils import timezone
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from engine.admin.columns import moment_column
from engine.admin.permissions import actor_of
from engine.admin.row_actions import Button
from engine.admin.secrets import NamedSettingForm, TenantSetting
from engine.errors import Conflict, Invalid
from engine.kernel.timing.calendars import WEEK, Calendar, CalendarError
from engine.models import BusinessCalendar
from engine.services.tenants import settings as tenant_settings
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR

DAYS = {
    "mon": "Monday",
    "tue": "Tuesday",
    "wed": "Wednesday",
    "thu": "Thursday",
    "fri": "Friday",
    "sat": "Saturday",
    "sun": "Sunday",
}
USUAL_WEEK = {"hours": {day: ["09:00-17:00"] for day in WEEK[:5]}}
DAYS_SHOWN = 14
_APART = re.compile(r"\s*(?:[,;]|\band\b)\s*")
_HOURS = re.compile(r"(\d{1,2})(?:[:.](\d\d))?\s*[-–—]\s*(\d{1,2})(?:[:.](\d\d))?", re.ASCII)


def read_hours(text: str) -> list[str]:
    """Read `9-12, 13:00-17:30` as intervals; anything else stays as typed, for the calendar to refuse."""
    return [_interval(piece) for piece in _APART.split(text.strip()) if piece and piece.lower() != "closed"]


def _interval(piece: str) -> str:
    match = _HOURS.fullmatch(piece)
    if match is None:
        return piece
    return f"{int(match[1]):02}:{match[2] or '00'}-{int(match[3]):02}:{match[4] or '00'}"


def write_hours(stored: Any) -> str:
    """Write intervals the way people type them."""
    return ", ".join(map(str, stored if isinstance(stored, list) else [stored]))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _hours_field(day: str) -> forms.CharField:
    widget = UnfoldAdminTextInputWidget(attrs={"placeholder": "closed", "autocomplete": "off"})
    return forms.CharField(max_length=200, required=False, label=DAYS[day], widget=widget)


def _lines_field(label: str, help_text: str) -> forms.CharField:
    widget = UnfoldAdminTextareaWidget(attrs={"rows": 6, "spellcheck": "false"})
    return forms.CharField(max_length=100_000, required=False, label=label, help_text=help_text, widget=widget)


class CalendarForm(NamedSettingForm):
    """Create or change a business calendar."""

    name = forms.CharField(
        max_length=63,
        help_text="Templates and schedules refer to it by this name.",
        widget=UnfoldAdminTextInputWidget(),
    )
    title = forms.CharField(max_length=200, required=False, widget=UnfoldAdminTextInputWidget())
    timezone = forms.CharField(
        max_length=64, label="Time zone", help_text="Such as Europe/Berlin.", widget=UnfoldAdminTextInputWidget()
    )
    mon, tue, wed, thu, fri, sat, sun = (_hours_field(day) for day in WEEK)
    holidays = _lines_field("Holidays", "One date per line: 2030-05-30, or 12-25 for every year.")
    half_days = _lines_field("Days with other hours", "One date with its hours per line: 12-24 09:00-12:00.")
    seen = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        written = self.instance.content or {**USUAL_WEEK, "timezone": timezone.get_current_timezone_name()}
        seen = tenant_settings.mark_of_calendar(self.instance if self.instance.name else None)
        self.initial = {**self.initial, "title": self.instance.title, "seen": seen, **_as_typed(written)}

    def act(self, typed: dict[str, Any]) -> BusinessCalendar:
        content = {
            "timezone": typed["timezone"],
            "hours": {day: hours for day in WEEK if (hours := read_hours(typed[day]))},
            "holidays": _lines(typed["holidays"]),
            "half_days": dict(_half_days(typed["half_days"])),
        }
        try:
            return tenant_settings.put_calendar(
                actor=self.actor, name=typed["name"], title=typed["title"], content=content, seen=typed["seen"]
            )
        except Conflict as conflict:
            self._compare(conflict, typed)
            raise

    def _compare(self, conflict: Conflict, typed: Mapping[str, str]) -> None:
        """Show at each field what another person saved meanwhile; saving again is then a decision."""
        if "mark" not in conflict.facts:
            return
        now = tenant_settings.find_calendar(actor=self.actor, name=typed["name"])
        for field, words in {"title": now.title, **_as_typed(now.content)}.items():
            if _unspaced(words) != _unspaced(typed[field]):
                said = f"Saved by the other person: {words}" if words else "The other person left this empty."
                self.add_error(field, forms.ValidationError(said, code="changed"))
        sent = cast(QueryDict, self.data).copy()
        sent["seen"] = conflict.facts["mark"]
        self.data = sent

    def clean_half_days(self) -> str:
        """Refuse a date without hours, and one that is listed twice: the second would silently win."""
        text: str = self.cleaned_data["half_days"]
        days = [line.partition(" ")[0] for line in _lines(text)]
        for line in _lines(text):
            if " " not in line:
                raise forms.ValidationError(f"Add the hours to “{line}”, such as {line} 09:00-12:00.", code="no_hours")
        for day in days:
            if days.count(day) > 1:
                message = f"{day} is listed twice. Write its hours in one line, separated by a comma."
                raise forms.ValidationError(message, code="twice")
        return text

    def refuse(self, refusal: Invalid) -> None:
        """Show each problem at its field, as a sentence about what was typed."""
        for error in refusal.errors:
            field, about = self._place(error.path)
            words = f"{about} {error.message}." if about else error.message
            self.add_error(field, forms.ValidationError(words, code=error.code))

    def _place(self, path: str) -> tuple[str | None, str]:
        """Find the field that a path in the content came from, and what was typed there."""
        part, _, place = path.partition(".")
        if part == "hours":
            return (place, f"“{self.cleaned_data[place]}”") if place in DAYS else (None, "The week")
        if part == "half_days" and place:
            return part, next(f"“{line}”" for line in _lines(self.cleaned_data[part]) if line.startswith(place))
        if part in ("holidays", "half_days"):
            return part, place or "This list"
        return (part if part in self.fields else None), ""


def _unspaced(text: str) -> str:
    return "\n".join(_lines(text))


def _as_typed(content: Any) -> dict[str, str]:
    hours, halves = _part(content, "hours", dict), _part(content, "half_days", dict)
    return {
        "timezone": _part(content, "timezone", str) or "UTC",
        **{day: write_hours(hours.get(day, [])) for day in WEEK},
        "holidays": "\n".join(map(str, _part(content, "holidays", list))),
        "half_days": "\n".join(f"{day} {write_hours(open_hours)}" for day, open_hours in halves.items()),
    }


def _part(content: Any, name: str, kind: type[Any]) -> Any:
    """Return a part of a calendar's content; an empty one where it is absent or cannot be read."""
    part = content.get(name) if isinstance(content, dict) else None
    return part if isinstance(part, kind) else kind()


def _half_days(text: str) -> Iterator[tuple[str, list[str]]]:
    for line in _lines(text):
        day, _, hours = line.partition(" ")
        yield day, read_hours(hours)


@dataclass(frozen=True, slots=True)
class Day:
    """One of the next days: its hours, or why it is closed."""

    on: date
    hours: str
    why: str


def days_ahead(calendar: Calendar, first: date) -> list[Day]:
    """List the next days with their hours, or why they are closed."""
    return [_day(calendar, first + timedelta(days=number)) for number in range(DAYS_SHOWN)]


def _day(calendar: Calendar, on: date) -> Day:
    hours = ", ".join(str(interval) for interval in calendar.hours_on(on))
    if hours:
        differs = not calendar.half_days.keys().isdisjoint((on.isoformat(), on.isoformat()[5:]))
        return Day(on, hours, "other hours that day" if differs else "")
    return Day(on, "", "holiday" if calendar.is_holiday(on) else "closed on this weekday")


def delete(request: HttpRequest, calendar: BusinessCalendar) -> str:
    tenant_settings.delete_calendar(actor=actor_of(request), name=calendar.name)
    return f"Calendar {calendar} was deleted."


def deletion_preview(actor: Actor, calendar: BusinessCalendar) -> str:
    users = tenant_settings.calendar_users(actor=actor, name=calendar.name)
    if users:
        return f"It cannot be deleted while it is used by {tenant_settings.in_short(users)}."
    return "No active template, running instance or schedule uses it. This cannot be undone."


@admin.register(BusinessCalendar)
class CalendarAdmin(TenantSetting):
    kind = "calendar"
    empty_text = "Templates and schedules use calendars to count working hours and days."
    form = CalendarForm
    list_display = ("words", "zone", "week", "days", "changed")
    changed = moment_column("changed_at", "Changed")
    ordering = ("name",)
    buttons = (Button("delete-calendar", "Delete", delete, TO_AUTHOR, danger=True, preview=deletion_preview),)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Show the form only to people who may write; others read the calendar below it."""
        if not (self.has_change_permission(request, obj) if obj else self.has_add_permission(request)):
            return []
        return [
            (None, {"fields": [("name", "title"), "seen"]}),
            (
                "Open hours",
                {
                    "fields": [("mon", "tue", "wed", "thu"), ("fri", "sat", "sun", "timezone")],
                    "description": "Such as 09:00-17:00, or 9-12, 13-17 with a break. Leave closed days empty.",
                },
            ),
            ("Exceptions", {"fields": [("holidays", "half_days")]}),
        ]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        if row is None:
            return {"title": "New calendar"}
        try:
            calendar = Calendar.from_json(row.content)
        except CalendarError as error:
            return {"title": str(row), "wf_problem": f"This calendar cannot be read: {error}."}
        today = timezone.now().astimezone(calendar.zone).date()
        return {
            "title": str(row),
            "wf_calendar": row,
            "wf_zone": calendar.zone.key,
            "wf_week": [
                (DAYS[day], ", ".join(map(str, hours))) for day, hours in zip(WEEK, calendar.weekly, strict=True)
            ],
            "wf_days": days_ahead(calendar, today),
            "wf_differing": [*sorted(calendar.holidays), *sorted(calendar.half_days)],
        }

    def after_button(self, request: HttpRequest, row: Any) -> str:
        there = BusinessCalendar.objects.filter(pk=row.pk).exists()
        return super().after_button(request, row) if there else reverse("admin:engine_businesscalendar_changelist")

    @display(description="Calendar", header=True, ordering="name")
    def words(self, calendar: BusinessCalendar) -> list[str]:
        return [str(calendar), calendar.name]

    @display(description="Time zone")
    def zone(self, calendar: BusinessCalendar) -> str:
        return str(_part(calendar.content, "timezone", str))

    @display(description="Open on")
    def week(self, calendar: BusinessCalendar) -> str:
        open_days = _part(calendar.content, "hours", dict)
        return ", ".join(DAYS[day][:3] for day in WEEK if day in open_days)

    @display(description="Closed on")
    def days(self, calendar: BusinessCalendar) -> str:
        count = len(_part(calendar.content, "holidays", list))
        return f"{count} holidays" if count != 1 else "1 holiday"
