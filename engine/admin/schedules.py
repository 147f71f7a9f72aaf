"""Schedules: when templates start by the clock, what comes next and why, and to hold or end one."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from engine import access
from engine.admin.base import TenantAdmin
from engine.admin.columns import moment_column
from engine.admin.cron_words import cron_words
from engine.admin.descriptions import moment_words, value_words
from engine.admin.instance_actions import REASON, read_json, reason_in
from engine.admin.permissions import actor_of
from engine.admin.row_actions import Button
from engine.admin.service_forms import ServiceForm
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.models import Audit, Schedule, ScheduleFire, Template
from engine.models.schedule import CATCH_UPS, OVERLAPS
from engine.services.schedules import lifecycle as schedules
from engine.services.schedules.changes import run_schedule
from engine.services.tenants import settings as tenant_settings
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE

STATUS_LABELS = {"active": "success", "paused": "warning", "cancelled": "", "done": ""}
OVERLAP_WORDS = {
    "skip": "skip it",
    "queue_one": "let one wait",
    "queue_all": "let all wait",
    "cancel_other": "cancel the one before",
    "allow": "start it all the same",
}
CATCH_UP_WORDS = {"none": "nothing", "last": "the last one", "all": "every one"}


def pause(request: HttpRequest, schedule: Schedule) -> str:
    """Hold a schedule."""
    schedules.pause_schedule(actor=actor_of(request), schedule_id=schedule.pk, reason=reason_in(request))
    return "The schedule is held; nothing starts by it until you resume it."


def resume(request: HttpRequest, schedule: Schedule) -> str:
    """Let a schedule go on."""
    schedules.resume_schedule(actor=actor_of(request), schedule_id=schedule.pk, reason=reason_in(request))
    return "The schedule goes on. What was missed follows its own rule."


def end(request: HttpRequest, schedule: Schedule) -> str:
    """End a schedule for good."""
    schedules.cancel_schedule(actor=actor_of(request), schedule_id=schedule.pk, reason=reason_in(request))
    return "The schedule has ended. What it started stays."


def run(request: HttpRequest, schedule: Schedule) -> str:
    """Start now what the schedule would start."""
    begun = run_schedule(actor=actor_of(request), schedule_id=schedule.pk, reason=reason_in(request))
    return f"{begun} is started. The next run comes at its own time."


def is_(status: str) -> Any:
    """Offer a button while a schedule has this status."""
    return lambda actor, schedule: schedule.status == status


def is_live(actor: Actor, schedule: Schedule) -> bool:
    """Offer it while the schedule has not ended."""
    return schedule.status in ("active", "paused")


def missed(actor: Actor, schedule: Schedule) -> str:
    """Say what becomes of the runs that were missed."""
    return f"It goes on. Of what was missed it starts {CATCH_UP_WORDS[schedule.catch_up]}."


def _moment(text: str) -> datetime:
    """Read a moment that names its zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        message = "Write a moment with its zone, such as 2030-01-07T09:00:00+01:00."
        raise Invalid(message, [FieldError("once_at", "invalid", message)])
    return moment


class ScheduleForm(ServiceForm):
    """Make a schedule."""

    template = forms.ModelChoiceField(queryset=Template.objects.none(), widget=UnfoldAdminSelectWidget())
    cron = forms.CharField(
        required=False,
        label="At these times",
        help_text="A cron expression: minute, hour, day, month, weekday. `0 9 * * 1` is every Monday at nine.",
        widget=UnfoldAdminTextInputWidget(),
    )
    once_at = forms.CharField(
        required=False,
        label="Or once, at",
        help_text="Such as 2030-01-07T09:00:00+01:00.",
        widget=UnfoldAdminTextInputWidget(),
    )
    timezone = forms.CharField(initial="Europe/Berlin", label="Time zone", widget=UnfoldAdminTextInputWidget())
    calendar = forms.ChoiceField(
        required=False, help_text="Only on working days of this calendar.", widget=UnfoldAdminSelectWidget()
    )
    overlap = forms.ChoiceField(
        choices=[(word, OVERLAP_WORDS[word]) for word in OVERLAPS],
        label="When the one before still runs",
        widget=UnfoldAdminSelectWidget(),
    )
    catch_up = forms.ChoiceField(
        choices=[(word, CATCH_UP_WORDS[word]) for word in CATCH_UPS],
        initial="last",
        label="Of what was missed, start",
        widget=UnfoldAdminSelectWidget(),
    )
    input = forms.CharField(
        required=False, label="Start it with (JSON)", widget=UnfoldAdminTextareaWidget(attrs={"rows": 4})
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["template"].queryset = access.visible_templates(self.actor)  # type: ignore[attr-defined]
        kept = [
            (calendar.name, str(calendar))
            for calendar in tenant_settings.list_calendars(actor=self.actor).order_by("name")
        ]
        self.fields["calendar"].choices = [("", "on every day"), *kept]  # type: ignore[attr-defined]

    def act(self, typed: dict[str, Any]) -> Schedule:
        given = {
            "cron": typed["cron"],
            "once_at": _moment(typed["once_at"]) if typed["once_at"] else None,
            "calendar": typed["calendar"],
        }
        return schedules.create_schedule(
            actor=self.actor,
            template=typed["template"].name,
            time_zone=typed["timezone"],
            overlap=typed["overlap"],
            catch_up=typed["catch_up"],
            input=read_json(typed["input"], {}),
            **{name: value for name, value in given.items() if value},
        )


def _told(actor: Actor, fires: Iterable[ScheduleFire]) -> list[tuple[ScheduleFire, Any]]:
    """Bring each slot together with the instance that it started, where that can still be seen."""
    slots = list(fires)
    started = access.visible_instances(actor).filter(pk__in=[slot.instance_id for slot in slots if slot.instance_id])
    named = {instance.pk: instance for instance in started}
    return [(slot, named.get(slot.instance_id) if slot.instance_id else None) for slot in slots]


@admin.register(Schedule)
class ScheduleAdmin(TenantAdmin):
    nothing = "Nothing starts by the clock. A template can say when, or you make a schedule here."
    visible = staticmethod(access.visible_schedules)
    list_display = ("words", "state_label", "moments", "next_run", "owner")
    next_run = moment_column("next_at", "Next run")
    list_filter = ("status", "template")
    ordering = ("-id",)
    change_form_template = "admin/schedule_page.html"
    buttons = (
        Button(
            "end",
            "End it",
            end,
            TO_OPERATE,
            is_live,
            danger=True,
            more=(REASON,),
            preview="It never starts anything again. What it started stays. This cannot be undone.",
        ),
        Button(
            "pause",
            "Pause",
            pause,
            TO_OPERATE,
            is_("active"),
            more=(REASON,),
            preview="Nothing starts by it until it is resumed; what is missed follows its own rule.",
        ),
        Button("resume", "Resume", resume, TO_OPERATE, is_("paused"), more=(REASON,), preview=missed),
        Button(
            "run",
            "Run now",
            run,
            TO_OPERATE,
            is_live,
            more=(REASON,),
            preview="One instance starts now, in your name and with the input of the schedule. Its next run stays.",
        ),
    )

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(request, obj, change=change, **kwargs | ({} if obj else {"form": ScheduleForm}))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [] if obj else list(ScheduleForm.base_fields)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return []

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        return Audit.objects.filter(tenant_id=actor.tenant_id, subject_id=row.template_id, action__contains="schedule")

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Tell a schedule: when, what comes next and why, and what became of the slots before."""
        if row is None:
            return {"title": "New schedule"}
        live = row.status in ("active", "paused")
        slots = schedules.preview_schedule(actor=actor_of(request), schedule_id=row.pk, n=10) if live else []
        fires = ScheduleFire.objects.filter(tenant_id=row.tenant_id, schedule=row).order_by("-slot")[:20]
        return {
            "title": str(row.template),
            "subtitle": None,
            "wf_schedule": row,
            "wf_when": ", ".join(self.moments(row)),
            "wf_cron": row.cron if cron_words(row.cron) else "",
            "wf_overlap": OVERLAP_WORDS[row.overlap],
            "wf_catch_up": CATCH_UP_WORDS[row.catch_up],
            "wf_slots": slots,
            "wf_year": timezone.now().year,
            "wf_fires": _told(actor_of(request), fires),
            "wf_input": value_words(row.input) if row.input else "",
        }

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        """Show at once when it will run."""
        messages.success(request, "The schedule is made. Below stands when it runs.")
        return redirect(self.after_button(request, obj))

    @display(description="Schedule", header=True, ordering="template__title")
    def words(self, schedule: Schedule) -> list[str]:
        return [str(schedule.template), "as its template says" if schedule.declared else "made by hand"]

    @display(description="Status", label=STATUS_LABELS, ordering="status")
    def state_label(self, schedule: Schedule) -> str:
        return schedule.status

    @display(description="When", header=True)
    def moments(self, schedule: Schedule) -> list[str]:
        if schedule.once_at:
            return ["once", moment_words(schedule.once_at)]
        return [cron_words(schedule.cron) or schedule.cron, f"{schedule.time_zone} time"]

    @display(description="Acts for", ordering="owner_name")
    def owner(self, schedule: Schedule) -> str:
        return schedule.owner_name.capitalize()
