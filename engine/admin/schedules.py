"""Schedules: when templates start, which runs come next and why, and pausing or ending a schedule."""

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
    "skip": "skip the new run",
    "queue_one": "queue one run",
    "queue_all": "queue all runs",
    "cancel_other": "cancel the previous run",
    "allow": "start anyway",
}
CATCH_UP_WORDS = {"none": "start none of them", "last": "start the last one", "all": "start all of them"}


def pause(request: HttpRequest, schedule: Schedule) -> str:
    schedules.pause_schedule(actor=actor_of(request), schedule_id=schedule.pk, reason=reason_in(request))
    return "The schedule is paused. It starts nothing until you resume it."


def resume(request: HttpRequest, schedule: Schedule) -> str:
    schedules.resume_schedule(actor=actor_of(request), schedule_id=schedule.pk, reason=reason_in(request))
    return "The schedule is active again. Its rule decides about missed runs."


def end(request: HttpRequest, schedule: Schedule) -> str:
    schedules.cancel_schedule(actor=actor_of(request), schedule_id=schedule.pk, reason=reason_in(request))
    return "The schedule was ended. Instances that it started are not affected."


def run(request: HttpRequest, schedule: Schedule) -> str:
    started = run_schedule(actor=actor_of(request), schedule_id=schedule.pk, reason=reason_in(request))
    return f"{started} was started. The next run takes place as planned."


def is_(status: str) -> Any:
    """Offer a button while a schedule has this status."""
    return lambda actor, schedule: schedule.status == status


def is_live(actor: Actor, schedule: Schedule) -> bool:
    return schedule.status in ("active", "paused")


def resume_preview(actor: Actor, schedule: Schedule) -> str:
    return f"It becomes active again. Missed runs: {CATCH_UP_WORDS[schedule.catch_up]}."


def _moment(text: str) -> datetime:
    """Read a time with a time zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        message = "Enter a time with its time zone, such as 2030-01-07T09:00:00+01:00."
        raise Invalid(message, [FieldError("once_at", "invalid", message)])
    return moment


class ScheduleForm(ServiceForm):
    template = forms.ModelChoiceField(queryset=Template.objects.none(), widget=UnfoldAdminSelectWidget())
    cron = forms.CharField(
        required=False,
        label="Repeats at (cron)",
        help_text="Minute, hour, day, month, weekday: `0 9 * * 1` is every Monday at 09:00.",
        widget=UnfoldAdminTextInputWidget(),
    )
    once_at = forms.CharField(
        required=False,
        label="Or once at",
        help_text="Such as 2030-01-07T09:00:00+01:00.",
        widget=UnfoldAdminTextInputWidget(),
    )
    timezone = forms.CharField(initial="Europe/Berlin", label="Time zone", widget=UnfoldAdminTextInputWidget())
    calendar = forms.ChoiceField(
        required=False, help_text="Only on working days of this calendar.", widget=UnfoldAdminSelectWidget()
    )
    overlap = forms.ChoiceField(
        choices=[(word, OVERLAP_WORDS[word]) for word in OVERLAPS],
        label="If the previous run is not over",
        widget=UnfoldAdminSelectWidget(),
    )
    catch_up = forms.ChoiceField(
        choices=[(word, CATCH_UP_WORDS[word]) for word in CATCH_UPS],
        initial="last",
        label="After missed runs",
        widget=UnfoldAdminSelectWidget(),
    )
    input = forms.CharField(required=False, label="Input (JSON)", widget=UnfoldAdminTextareaWidget(attrs={"rows": 4}))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["template"].queryset = access.visible_templates(self.actor)  # type: ignore[attr-defined]
        kept = [
            (calendar.name, str(calendar))
            for calendar in tenant_settings.list_calendars(actor=self.actor).order_by("name")
        ]
        self.fields["calendar"].choices = [("", "every day"), *kept]  # type: ignore[attr-defined]

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


def _with_instances(actor: Actor, fires: Iterable[ScheduleFire]) -> list[tuple[ScheduleFire, Any]]:
    """Pair each past run with the instance that it started, if the actor sees it."""
    slots = list(fires)
    started = access.visible_instances(actor).filter(pk__in=[slot.instance_id for slot in slots if slot.instance_id])
    named = {instance.pk: instance for instance in started}
    return [(slot, named.get(slot.instance_id) if slot.instance_id else None) for slot in slots]


@admin.register(Schedule)
class ScheduleAdmin(TenantAdmin):
    empty_text = "A schedule starts a template at set times. Templates can define their own, or add one here."
    visible = staticmethod(access.visible_schedules)
    list_display = ("words", "state_label", "moments", "next_run", "owner")
    next_run = moment_column("next_at", "Next run")
    list_filter = ("status", "template")
    ordering = ("-id",)
    buttons = (
        Button(
            "end",
            "End",
            end,
            TO_OPERATE,
            is_live,
            danger=True,
            more=(REASON,),
            preview="It never starts anything again. Instances that it started are not affected. This cannot be undone.",
        ),
        Button(
            "pause",
            "Pause",
            pause,
            TO_OPERATE,
            is_("active"),
            more=(REASON,),
            preview="It starts nothing until it is resumed; its rule then decides about missed runs.",
        ),
        Button("resume", "Resume", resume, TO_OPERATE, is_("paused"), more=(REASON,), preview=resume_preview),
        Button(
            "run",
            "Run now",
            run,
            TO_OPERATE,
            is_live,
            more=(REASON,),
            preview="One instance starts now, in your name and with the schedule's input. The next run stays as planned.",
        ),
    )

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(request, obj, change=change, **kwargs | ({} if obj else {"form": ScheduleForm}))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [] if obj else list(ScheduleForm.base_fields)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return []

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        return access.visible_audit(actor).filter(subject_id=row.template_id, action__contains="schedule")

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return when the schedule runs, the next runs with their reasons, and the past ones."""
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
            "wf_problem": schedules.clock_problem(row) if live else "",
            "wf_year": timezone.now().year,
            "wf_fires": _with_instances(actor_of(request), fires),
            "wf_input": value_words(row.input) if row.input else "",
        }

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        messages.success(request, "Schedule created. Its next runs are below.", extra_tags="schedule.created")
        return redirect(self.after_button(request, obj))

    @display(description="Schedule", header=True, ordering="template__title")
    def words(self, schedule: Schedule) -> list[str]:
        return [str(schedule.template), "defined by its template" if schedule.declared else "added here"]

    @display(description="Status", label=STATUS_LABELS, ordering="status")
    def state_label(self, schedule: Schedule) -> str:
        return schedule.status

    @display(description="When", header=True)
    def moments(self, schedule: Schedule) -> list[str]:
        if schedule.once_at:
            return ["once", moment_words(schedule.once_at)]
        return [cron_words(schedule.cron) or schedule.cron, f"{schedule.time_zone} time"]

    @display(description="Runs as", ordering="owner_name")
    def owner(self, schedule: Schedule) -> str:
        return schedule.owner_name.capitalize()
