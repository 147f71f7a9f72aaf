"""What is answered: one serializer per noun, in the words of the contract."""

from collections.abc import Iterable, Mapping
from datetime import UTC
from functools import lru_cache
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from engine.api.row_writers import Write, writer_of
from engine.kernel.expressions.text_marks import plain
from engine.kernel.timing.cron import Slot
from engine.models import Instance, Task, Template, TemplateVersion


class Rows(serializers.Serializer[Any]):
    """What an answer consists of."""

    @classmethod
    def write(cls, row: Any) -> dict[str, Any]:
        """Write one row."""
        return _writer(cls, ())(row)

    @classmethod
    def write_all(cls, rows: Iterable[Any], fields: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        """Write rows in their order; only some fields where some are named."""
        write = _writer(cls, fields)
        return [write(row) for row in rows]

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Name the fields in their order."""
        return _names(cls)

    @classmethod
    def columns(cls, fields: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Name the columns that these fields, or all, are made of, as a query names them."""
        return _columns(cls, fields)


@lru_cache(maxsize=500)
def _writer(shape: type[Rows], fields: tuple[str, ...]) -> Write:
    return writer_of(shape(), fields)


@lru_cache
def _names(shape: type[Rows]) -> tuple[str, ...]:
    return tuple(shape().fields)


@lru_cache(maxsize=500)
def _columns(shape: type[Rows], fields: tuple[str, ...]) -> tuple[str, ...]:
    found: list[str] = []
    for name, field in shape().fields.items():
        if not fields or name in fields:
            found += COMPUTED.get((shape.__name__, name)) or [(field.source or name).replace(".", "__")]
    return tuple(dict.fromkeys(["id", *found]))


COMPUTED: Mapping[tuple[str, str], list[str]] = {
    ("TaskSerializer", "values"): ["answer", "payload", "form"],
    ("TaskSerializer", "details"): ["payload", "form"],
    ("TaskSerializer", "priority"): ["priority"],
    ("TaskSerializer", "checklist"): ["extra"],
    ("TaskSerializer", "allow"): ["extra"],
    ("InstanceSerializer", "waits"): ["id"],
    ("InstanceSerializer", "tasks"): ["id"],
}
"""The columns of fields that are not one column."""


class Moment(serializers.DateTimeField):
    """A moment in UTC, whatever zone the reader lives in."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(default_timezone=UTC, **kwargs)


class OutcomeSerializer(Rows):
    name = serializers.CharField()
    title = serializers.CharField()
    reject = serializers.BooleanField(default=False)
    comment = serializers.CharField(default=None, allow_null=True)
    secure = serializers.BooleanField(default=False)
    undo = serializers.FloatField(default=None, allow_null=True)


class Plain(serializers.CharField):
    """A text without the marks that pages replace: dates as ISO writes them, people by their user names."""

    def to_representation(self, value: str) -> str:
        return plain(super().to_representation(value))


class TaskSerializer(Rows):
    """A human task, for those who see it."""

    id = serializers.UUIDField()
    instance = serializers.UUIDField(source="instance_id")
    template = serializers.CharField(source="version.template.name")
    version = serializers.IntegerField(source="version.number")
    reference = serializers.CharField(source="business_reference", allow_null=True)
    step = serializers.CharField()
    path = serializers.CharField()
    type = serializers.CharField()
    route = serializers.CharField()
    case_title = Plain(source="instance.title", allow_null=True)
    title = Plain()
    description = Plain()
    instructions = Plain()
    status = serializers.CharField()
    assignee = serializers.CharField(source="assignee.username", default=None, allow_null=True)
    delegated_by = serializers.CharField(source="delegated_by_name")
    waiting_for = serializers.CharField(source="waiting_for_name")
    waiting_since = Moment(allow_null=True)
    roles = serializers.ListField(source="effective_roles")
    users = serializers.ListField()
    min_level = serializers.IntegerField()
    outcomes = OutcomeSerializer(many=True)
    comment_rule = serializers.CharField()
    form = serializers.JSONField(allow_null=True)
    values = serializers.SerializerMethodField()
    details = serializers.SerializerMethodField()
    priority = serializers.CharField(source="priority_name")
    due_at = Moment(allow_null=True)
    clock_paused_at = Moment(allow_null=True)
    clock_resumes_at = Moment(allow_null=True)
    follow_up_at = Moment(allow_null=True)
    sla_at = Moment(allow_null=True)
    checklist = serializers.ListField(source="checklist_points")
    ticked = serializers.ListField()
    allow = serializers.SerializerMethodField()
    answered_by = serializers.ListField()
    created_at = Moment()
    claimed_at = Moment(allow_null=True)
    completed_at = Moment(allow_null=True)
    completed_by = serializers.CharField(source="completed_by_name")
    completed_for = serializers.CharField(source="completed_for_name")
    outcome = serializers.CharField(allow_null=True)
    comment = serializers.CharField()

    @extend_schema_field(OpenApiTypes.OBJECT)
    def get_values(self, task: Task) -> dict[str, Any]:
        """Return what was answered, or what the form begins with."""
        if task.answer is not None:
            return dict(task.answer)
        return {name: value for name, value in task.payload.items() if name in _fields(task)}

    def get_allow(self, task: Task) -> list[str]:
        """Return the acts that the author allows besides answering."""
        return list(task.rules.allow)

    @extend_schema_field(OpenApiTypes.OBJECT)
    def get_details(self, task: Task) -> dict[str, Any]:
        """Return what the author shows next to the form."""
        return {name: value for name, value in task.payload.items() if name not in _fields(task)}


def _fields(task: Task) -> dict[str, Any]:
    return dict((task.form or {}).get("properties") or {})


class TaskDraftSerializer(Rows):
    """An answer begun."""

    values = serializers.JSONField()
    outcome = serializers.CharField()
    comment = serializers.CharField()
    saved_by = serializers.CharField(source="saved_by_name")
    saved_at = Moment(allow_null=True)


class CommentSerializer(Rows):
    """Something said about a task."""

    id = serializers.UUIDField()
    text = serializers.CharField()
    author = serializers.CharField(source="author_name")
    at = Moment()


class AttachmentSerializer(Rows):
    """A file of a task."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    content_type = serializers.CharField()
    size = serializers.IntegerField()
    sha256 = serializers.CharField()
    added_by = serializers.CharField(source="added_by_name")
    added_at = Moment()


class BulkResultSerializer(Rows):
    """What became of one task of many."""

    id = serializers.UUIDField(source="task_id")
    ok = serializers.BooleanField()
    code = serializers.CharField()
    detail = serializers.CharField(source="message")
    task = TaskSerializer(allow_null=True)


class WaitSerializer(Rows):
    kind = serializers.CharField()
    step = serializers.CharField()
    due_at = Moment(allow_null=True)
    name = serializers.CharField(allow_null=True)


class InstanceSerializer(Rows):
    """An instance; `shown_tasks` are the open ones that the reader sees, `shown_waits` what it waits for if that was read."""

    id = serializers.UUIDField()
    template = serializers.CharField(source="template.name")
    version = serializers.IntegerField(source="version.number")
    status = serializers.CharField()
    outcome = serializers.CharField(allow_null=True)
    output = serializers.JSONField(allow_null=True)
    result = serializers.CharField()
    reference = serializers.CharField(allow_null=True)
    reference_parts = serializers.DictField(allow_null=True)
    title = Plain(allow_null=True)
    parent = serializers.UUIDField(source="parent_id", allow_null=True)  # type: ignore[assignment]
    schedule = serializers.UUIDField(source="schedule_id", allow_null=True)
    input = serializers.JSONField(allow_null=True)
    state = serializers.JSONField()
    error = serializers.JSONField(allow_null=True)
    started_by = serializers.CharField(source="started_by_name")
    started_at = Moment()
    ended_at = Moment(allow_null=True)
    waits = serializers.SerializerMethodField()
    tasks = serializers.SerializerMethodField()

    @extend_schema_field(WaitSerializer(many=True))
    def get_waits(self, instance: Instance) -> list[Any]:
        """List what keeps the case alive; timeouts and reminders do not count."""
        waits = instance.__dict__.get("shown_waits")
        own = [wait for wait in (instance.waits.all() if waits is None else waits) if not wait.side]
        return WaitSerializer.write_all(sorted(own, key=lambda wait: wait.token))

    @extend_schema_field(TaskSerializer(many=True))
    def get_tasks(self, instance: Instance) -> list[Any]:
        return TaskSerializer.write_all(instance.shown_tasks)  # type: ignore[attr-defined]


class HistorySerializer(Rows):
    seq = serializers.IntegerField()
    at = Moment()
    actor = serializers.CharField(source="actor_name")
    level = serializers.IntegerField(source="actor_level")
    action = serializers.CharField()
    step = serializers.CharField(allow_null=True)
    iteration = serializers.CharField(allow_null=True)
    attempt = serializers.IntegerField(allow_null=True)
    cause = serializers.CharField(source="reason")
    via = serializers.CharField(help_text="The token that was used, and who made it. Empty for a session.")
    old = serializers.JSONField(allow_null=True)
    new = serializers.JSONField(allow_null=True)


class StepRunSerializer(Rows):
    """A run of a step; a step of a graph that is not ready is pending and has none yet."""

    run = serializers.IntegerField(allow_null=True)
    parent = serializers.IntegerField(  # type: ignore[assignment]
        source="parent_run", allow_null=True, help_text="The run of the step that contains it."
    )
    step = serializers.CharField()
    kind = serializers.CharField()
    path = serializers.CharField()
    iteration = serializers.CharField()
    attempt = serializers.IntegerField()
    status = serializers.CharField()
    started_at = Moment(allow_null=True)
    ended_at = Moment(allow_null=True)
    input = serializers.JSONField(allow_null=True)
    output = serializers.JSONField(allow_null=True)
    error = serializers.JSONField(allow_null=True)
    reason = serializers.CharField(allow_null=True)


class SavedVersionSerializer(Rows):
    """What saving or moving a version answers."""

    name = serializers.CharField(source="template.name")
    version = serializers.IntegerField(source="number")
    status = serializers.CharField()
    revision = serializers.IntegerField()
    sha256 = serializers.CharField()
    findings = serializers.ListField()


class VersionSerializer(SavedVersionSerializer):
    source = serializers.CharField()  # type: ignore[assignment]
    canonical = serializers.JSONField(allow_null=True)
    created_by = serializers.CharField(source="created_by_name")
    created_at = Moment()
    updated_at = Moment()
    activated_by = serializers.CharField(source="activated_by_name")
    activated_at = Moment(allow_null=True)
    archived_at = Moment(allow_null=True)


class VersionLineSerializer(Rows):
    version = serializers.IntegerField(source="number")
    status = serializers.CharField()
    created_at = Moment()
    activated_at = Moment(allow_null=True)


class TemplateSerializer(Rows):
    """A template; `version` and `status` are those of the active or paused version, if any."""

    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    tags = serializers.ListField()
    version = serializers.SerializerMethodField()
    status = serializers.SerializerMethodField()

    def get_version(self, template: Template) -> int | None:
        held = in_force(template)
        return held.number if held else None

    def get_status(self, template: Template) -> str | None:
        held = in_force(template)
        return held.status if held else None


def in_force(template: Template) -> TemplateVersion | None:
    """Return the version that holds the template's place, prefetched as `held`."""
    held: list[TemplateVersion] = template.held  # type: ignore[attr-defined]
    return held[0] if held else None


class ReasonSerializer(Rows):
    ok = serializers.BooleanField()
    code = serializers.CharField()
    text = serializers.CharField()


class ScheduleSerializer(Rows):
    """A schedule, in the words that a template's own has."""

    id = serializers.UUIDField()
    template = serializers.CharField(source="template.name")
    status = serializers.CharField()
    declared = serializers.BooleanField()
    cron = serializers.CharField()
    once_at = Moment(allow_null=True)
    timezone = serializers.CharField(source="time_zone")
    dst = serializers.CharField()
    calendar = serializers.CharField()
    overlap = serializers.CharField()
    catch_up = serializers.CharField()
    window = serializers.CharField()
    input = serializers.JSONField()
    owner = serializers.CharField(source="owner_name")
    next_at = Moment(allow_null=True)
    created_at = Moment()


class SlotSerializer(Rows):
    """A run to come: the moment, what the clock on the wall shows then, and why it is not where it was expected."""

    at = Moment()
    local = serializers.SerializerMethodField()
    reason = serializers.CharField()

    def get_local(self, slot: Slot) -> str:
        return slot.local.isoformat()


class DeadLetterSerializer(Rows):
    id = serializers.UUIDField()
    instance = serializers.UUIDField(source="instance_id")
    template = serializers.CharField(source="instance.template.name")
    reference = serializers.CharField(source="instance.reference", allow_null=True)
    reason = serializers.CharField()
    node = serializers.CharField()
    at = Moment()
    signal = serializers.JSONField(source="envelope")


class AuditSerializer(HistorySerializer):
    """One act, and the subject of its chain."""

    id = serializers.IntegerField()
    subject_kind = serializers.CharField()
    subject = serializers.UUIDField(source="subject_id")
    hash = serializers.CharField()


class BrokenSerializer(Rows):
    subject_kind = serializers.CharField()
    subject = serializers.UUIDField(source="subject_id")
    seq = serializers.IntegerField()
    what = serializers.CharField()


class SecretSerializer(Rows):
    """A secret without its value: nobody reads that back."""

    name = serializers.CharField()
    origins = serializers.ListField(
        child=serializers.CharField(), help_text="Where calls may send it. Empty: anywhere that calls may go."
    )
    changed_by = serializers.CharField(source="changed_by_name")
    changed_at = Moment()


class CalendarSerializer(Rows):
    name = serializers.CharField()
    title = serializers.CharField()
    timezone = serializers.JSONField(source="content.timezone")
    hours = serializers.JSONField(source="content.hours")
    holidays = serializers.JSONField(source="content.holidays")
    half_days = serializers.JSONField(source="content.half_days")
    changed_at = Moment()
