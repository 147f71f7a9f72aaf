"""Business calendars as a form that a person can fill: hours by weekday, holidays and half days a line each.

What is typed becomes the content that `engine.kernel.timing.calendars` reads; what that
refuses comes back at the field, as a sentence.
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
from engine.kernel.timing.calendars import WEEK, Calendar
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
    """Read `9-12, 13:00-17:30` as intervals; what is none stays as typed, for the calendar to refuse."""
    return [_interval(piece) for piece in _APART.split(text.strip()) if piece and piece.lower() != "closed"]


def _interval(piece: str) -> str:
    match = _HOURS.fullmatch(piece)
    if match is None:
        return piece
    return f"{int(match[1]):02}:{match[2] or '00'}-{int(match[3]):02}:{match[4] or '00'}"


def write_hours(stored: Any) -> str:
    """Write intervals the way people type them."""
    return ", ".join(stored if isinstance(stored, list) else [stored])


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _hours_field(day: str) -> forms.CharField:
    widget = UnfoldAdminTextInputWidget(attrs={"placeholder": "closed", "autocomplete": "off"})
    return forms.CharField(max_length=200, required=False, label=DAYS[day], widget=widget)


def _lines_field(label: str, help_text: str) -> forms.CharField:
    widget = UnfoldAdminTextareaWidget(attrs={"rows": 6, "spellcheck": "false"})
    return forms.CharField(max_length=100_000, required=False, label=label, help_text=help_text, widget=widget)


class CalendarForm(NamedSettingForm):
    """Write a business calendar, new or anew."""

    name = forms.CharField(
        max_length=63, help_text="Templates and schedules name it.", widget=UnfoldAdminTextInputWidget()
    )
    title = forms.CharField(max_length=200, required=False, widget=UnfoldAdminTextInputWidget())
    timezone = forms.CharField(
        max_length=64, label="Time zone", help_text="Such as Europe/Berlin.", widget=UnfoldAdminTextInputWidget()
    )
    mon, tue, wed, thu, fri, sat, sun = (_hours_field(day) for day in WEEK)
    holidays = _lines_field("Holidays", "A date a line: 2030-05-30, or 12-25 for every year.")
    half_days = _lines_field("Other hours on some days", "A date and its hours a line: 12-24 09:00-12:00.")
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
        """Say at each field what somebody else wrote there meanwhile; saving once more is then a decision."""
        if "mark" not in conflict.facts:
            return
        now = tenant_settings.find_calendar(actor=self.actor, name=typed["name"])
        for field, words in {"title": now.title, **_as_typed(now.content)}.items():
            if _unspaced(words) != _unspaced(typed[field]):
                self.add_error(field, f"It says now: {words}" if words else "It is empty now.")
        sent = cast(QueryDict, self.data).copy()
        sent["seen"] = conflict.facts["mark"]
        self.data = sent

    def clean_half_days(self) -> str:
        """Refuse a date without hours, and one that stands there twice: the second would silently win."""
        text: str = self.cleaned_data["half_days"]
        days = [line.partition(" ")[0] for line in _lines(text)]
        for line in _lines(text):
            if " " not in line:
                raise forms.ValidationError(f"“{line}” needs its hours, such as {line} 09:00-12:00.")
        for day in days:
            if days.count(day) > 1:
                raise forms.ValidationError(f"{day} stands there twice. Write its hours in one line, with a comma.")
        return text

    def refuse(self, refusal: Invalid) -> None:
        """Say each problem as a sentence about what was typed, at its field."""
        for error in refusal.errors:
            field, about = self._place(error.path)
            self.add_error(field, f"{about} {error.message}." if about else error.message)

    def _place(self, path: str) -> tuple[str | None, str]:
        """Find the field that a place in the content came from, and what stood there."""
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


def _as_typed(content: Mapping[str, Any]) -> dict[str, str]:
    hours, halves = content.get("hours") or {}, content.get("half_days") or {}
    return {
        "timezone": content.get("timezone", "UTC"),
        **{day: write_hours(hours.get(day, [])) for day in WEEK},
        "holidays": "\n".join(content.get("holidays") or ()),
        "half_days": "\n".join(f"{day} {write_hours(open_hours)}" for day, open_hours in halves.items()),
    }


def _half_days(text: str) -> Iterator[tuple[str, list[str]]]:
    for line in _lines(text):
        day, _, hours = line.partition(" ")
        yield day, read_hours(hours)


@dataclass(frozen=True, slots=True)
class Day:
    """One of the next days, and whether anybody works then."""

    on: date
    hours: str
    why: str


def days_ahead(calendar: Calendar, first: date) -> list[Day]:
    """Say for the next days when the office is open, and why not."""
    return [_day(calendar, first + timedelta(days=number)) for number in range(DAYS_SHOWN)]


def _day(calendar: Calendar, on: date) -> Day:
    hours = ", ".join(str(interval) for interval in calendar.hours_on(on))
    if hours:
        differs = not calendar.half_days.keys().isdisjoint((on.isoformat(), on.isoformat()[5:]))
        return Day(on, hours, "other hours that day" if differs else "")
    return Day(on, "", "holiday" if calendar.is_holiday(on) else "closed on this weekday")


def delete(request: HttpRequest, calendar: BusinessCalendar) -> str:
    """Delete a calendar."""
    tenant_settings.delete_calendar(actor=actor_of(request), name=calendar.name)
    return f"The calendar {calendar} is deleted."


def what_deleting_meets(actor: Actor, calendar: BusinessCalendar) -> str:
    """Say what counts by a calendar, before anybody deletes it."""
    users = tenant_settings.calendar_users(actor=actor, name=calendar.name)
    if users:
        return f"It stays while it is used by {tenant_settings.in_short(users)}."
    return "No template in force, no running instance and no schedule counts by it. It is gone for good."


@admin.register(BusinessCalendar)
class CalendarAdmin(TenantSetting):
    kind = "calendar"
    nothing = "No calendar yet. Templates and schedules name one to count working hours and days."
    form = CalendarForm
    list_display = ("words", "zone", "week", "days", "changed")
    changed = moment_column("changed_at", "Written")
    ordering = ("name",)
    change_form_template = "admin/calendar_page.html"
    buttons = (Button("delete-calendar", "Delete", delete, TO_AUTHOR, danger=True, preview=what_deleting_meets),)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Offer the form to those who write; whoever only looks reads the calendar on the page."""
        if not (self.has_change_permission(request, obj) if obj else self.has_add_permission(request)):
            return []
        return [
            (None, {"fields": [("name", "title"), "seen"]}),
            (
                "Open hours",
                {
                    "fields": [("mon", "tue", "wed", "thu"), ("fri", "sat", "sun", "timezone")],
                    "description": "Such as 09:00-17:00, or 9-12, 13-17 with a break. Leave a day empty on which nobody works.",
                },
            ),
            ("Days that differ", {"fields": [("holidays", "half_days")]}),
        ]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        if row is None:
            return {"title": "New calendar"}
        calendar = Calendar.from_json(row.content)
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
        return str(calendar.content.get("timezone", ""))

    @display(description="Open on")
    def week(self, calendar: BusinessCalendar) -> str:
        open_days = calendar.content.get("hours") or {}
        return ", ".join(DAYS[day][:3] for day in WEEK if day in open_days)

    @display(description="Closed on")
    def days(self, calendar: BusinessCalendar) -> str:
        count = len(calendar.content.get("holidays") or ())
        return f"{count} holidays" if count != 1 else "1 holiday"
