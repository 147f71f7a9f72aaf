"""Describe every operation for the OpenAPI document: one row each, in the order of docs/rest.md.

The sentences come from the views' own docstrings; what is refused from the method. A route without a row fails the tests.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from engine.access.task_filters import FILTERS
from engine.api import filters, request_bodies, response_shapes, serializers
from engine.api.response_shapes import page_of_rows
from engine.services.audit.exports import FORMS
from engine.services.tasks.lists import ORDERS, VIEWS
from engine.services.templates.exports import EXPORTS

JSON, SVG, ANY_FILE = "application/json", "image/svg+xml", "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Operation:
    """What is sent, what comes back, and what may be asked for in the address."""

    answer: Any = None
    body: type[request_bodies.Body] | None = None
    status: int = 200
    query: tuple[OpenApiParameter, ...] = ()
    media: tuple[str, ...] = (JSON,)
    open: bool = False
    keyed: bool = True
    """Whether a POST takes an Idempotency-Key; one that answers a secret does not."""
    or_nothing: bool = False
    """Whether 204 is a good answer too."""
    others: tuple[int, ...] = ()
    """Its own refusals, besides those that all operations can give."""


def asked(name: str, kind: Any = OpenApiTypes.STR, *, words: Any = None, said: str = "") -> OpenApiParameter:
    """Describe one word of the address."""
    return OpenApiParameter(name, kind, OpenApiParameter.QUERY, enum=list(words) if words else None, description=said)


SPECIAL = {"started_after", "due_before", "due_after", "since"}
IDS = {"instance", "parent", "subject", "webhook"}


def listed(shape: Any, known: Mapping[str, Any] | None = None, *others: OpenApiParameter) -> Operation:
    """Describe a list in pages, with its filters."""
    paging = (
        asked("cursor", said="Where the page begins. Take it from `next` or `previous`."),
        OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}),
    )
    return Operation(page_of_rows(shape), query=(*_narrowing(known or {}), *others, *paging))


def _narrowing(known: Mapping[str, Any]) -> tuple[OpenApiParameter, ...]:
    return tuple(asked(name, _kind(name)) for name in known)


def _kind(name: str) -> Any:
    return OpenApiTypes.DATETIME if name in SPECIAL else OpenApiTypes.UUID if name in IDS else OpenApiTypes.STR


ASKED_FIELDS = asked("fields", said="Only these fields of each row, separated by commas.")
ASKED_OF_TASKS = (
    ASKED_FIELDS,
    asked("view", words=VIEWS),
    asked("sort", words=ORDERS),
    asked("column.NAME", said="A column declared by the author contains these words."),
    asked("column.NAME.min", OpenApiTypes.NUMBER, said="The first number in that column is at least this."),
    asked("column.NAME.max", OpenApiTypes.NUMBER, said="The first number in that column is at most this."),
)


def gone() -> Operation:
    """Describe an act after which there is nothing to show."""
    return Operation(status=204)


LAST_EVENT = OpenApiParameter(
    "Last-Event-ID", OpenApiTypes.STR, OpenApiParameter.HEADER, description="The `id` of the last event received."
)
INSTANCE, TASK = serializers.InstanceSerializer, serializers.TaskSerializer
SAVED, SCHEDULE = serializers.SavedVersionSerializer, serializers.ScheduleSerializer
VERSION = "templates/{name}/versions/{number}/"
ONE, ONE_TASK, ONE_SCHEDULE = "instances/{instance_id}/", "tasks/{task_id}/", "schedules/{schedule_id}/"
ONE_WEBHOOK, WEBHOOK, DELIVERY = (
    "webhooks/{webhook_id}/",
    response_shapes.WebhookSerializer,
    response_shapes.DeliveryDetailSerializer,
)
FILES = ONE_TASK + "attachments/"
REASON = request_bodies.ReasonBody

OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("GET", "templates/"): listed(serializers.TemplateSerializer),
    ("POST", "templates/"): Operation(response_shapes.SavedSetSerializer, request_bodies.SourceBody, 201),
    ("POST", "templates/validate/"): Operation(response_shapes.CheckedSerializer, request_bodies.SourceBody),
    ("POST", "templates/activate/"): Operation(response_shapes.ActivatedSetSerializer, request_bodies.ActivateSetBody),
    ("GET", "templates/{name}/"): Operation(response_shapes.TemplateDetailSerializer),
    ("GET", VERSION): Operation(serializers.VersionSerializer),
    ("PUT", VERSION): Operation(SAVED, request_bodies.DraftBody),
    ("DELETE", VERSION): gone(),
    ("POST", VERSION + "activate/"): Operation(SAVED, request_bodies.NoBody),
    ("POST", VERSION + "pause/"): Operation(SAVED, request_bodies.NoBody),
    ("POST", VERSION + "resume/"): Operation(SAVED, request_bodies.NoBody),
    ("POST", VERSION + "archive/"): Operation(SAVED, request_bodies.NoBody),
    ("POST", VERSION + "simulate/"): Operation(response_shapes.SimulatedSerializer, request_bodies.SimulationBody),
    ("GET", VERSION + "diff/"): Operation(
        response_shapes.DifferencesSerializer,
        query=(asked("against", OpenApiTypes.INT, said="The other version's number."),),
    ),
    ("GET", VERSION + "diagram.svg"): Operation(OpenApiTypes.STR, media=(SVG,)),
    ("GET", VERSION + "export/"): Operation(
        OpenApiTypes.ANY, query=(asked("format", words=EXPORTS),), media=(JSON, "application/yaml")
    ),
    ("GET", "instances/"): listed(
        INSTANCE,
        filters.INSTANCES,
        ASKED_FIELDS,
        asked("state.amount", said="A dotted path into the business state."),
    ),
    ("POST", "instances/"): Operation(INSTANCE, request_bodies.StartBody, 201),
    ("GET", ONE): Operation(INSTANCE),
    ("GET", ONE + "history/"): Operation(serializers.HistorySerializer(many=True)),
    ("GET", ONE + "steps/"): Operation(serializers.StepRunSerializer(many=True)),
    ("GET", ONE + "diagram.svg"): Operation(OpenApiTypes.STR, media=(SVG,)),
    ("POST", ONE + "cancel/"): Operation(INSTANCE, REASON),
    ("POST", ONE + "suspend/"): Operation(INSTANCE, REASON),
    ("POST", ONE + "resume/"): Operation(INSTANCE, REASON),
    ("POST", ONE + "retry/"): Operation(INSTANCE, request_bodies.RetryBody),
    ("POST", ONE + "skip/"): Operation(INSTANCE, request_bodies.SkipBody),
    ("POST", ONE + "signals/"): Operation(response_shapes.SignalledSerializer, request_bodies.InstanceSignalBody),
    ("POST", ONE + "withdraw/"): Operation(INSTANCE, REASON),
    ("POST", ONE + "remind/"): Operation(response_shapes.RemindedSerializer, request_bodies.NoBody),
    ("GET", ONE + "comment/"): Operation(serializers.CommentSerializer(many=True)),
    ("POST", ONE + "comment/"): Operation(serializers.CommentSerializer, request_bodies.CommentBody, 201),
    ("GET", ONE + "attachments/"): Operation(serializers.AttachmentSerializer(many=True)),
    ("POST", ONE + "attachments/"): Operation(serializers.AttachmentSerializer, request_bodies.FileBody, 201),
    ("GET", ONE + "attachments/{attachment_id}/"): Operation(OpenApiTypes.BINARY, media=(ANY_FILE,)),
    ("GET", "tasks/"): listed(TASK, FILTERS, *ASKED_OF_TASKS),
    ("POST", "tasks/next/"): Operation(TASK, request_bodies.NextBody, or_nothing=True),
    ("POST", "tasks/bulk/"): Operation(response_shapes.BulkSerializer, request_bodies.BulkBody),
    ("GET", ONE_TASK): Operation(TASK),
    ("POST", ONE_TASK + "claim/"): Operation(TASK, request_bodies.NoBody),
    ("POST", ONE_TASK + "release/"): Operation(TASK, request_bodies.NoBody),
    ("POST", ONE_TASK + "complete/"): Operation(response_shapes.AnsweredSerializer, request_bodies.CompleteBody),
    ("POST", ONE_TASK + "assign/"): Operation(TASK, request_bodies.AssignBody),
    ("POST", ONE_TASK + "delegate/"): Operation(TASK, request_bodies.DelegateBody),
    ("POST", ONE_TASK + "ask/"): Operation(TASK, request_bodies.AskBody),
    ("DELETE", ONE_TASK + "ask/"): gone(),
    ("POST", ONE_TASK + "return/"): Operation(TASK, request_bodies.ReturnBody, or_nothing=True),
    ("GET", ONE_TASK + "draft/"): Operation(serializers.TaskDraftSerializer),
    ("POST", ONE_TASK + "draft/"): Operation(serializers.TaskDraftSerializer, request_bodies.TaskDraftBody),
    ("DELETE", ONE_TASK + "draft/"): gone(),
    ("GET", FILES): Operation(serializers.AttachmentSerializer(many=True)),
    ("POST", FILES): Operation(serializers.AttachmentSerializer, request_bodies.FileBody, 201),
    ("GET", FILES + "{attachment_id}/"): Operation(OpenApiTypes.BINARY, media=(ANY_FILE,)),
    ("DELETE", FILES + "{attachment_id}/"): gone(),
    ("POST", ONE_TASK + "tick/"): Operation(TASK, request_bodies.TickBody),
    ("GET", ONE_TASK + "comment/"): Operation(serializers.CommentSerializer(many=True)),
    ("POST", ONE_TASK + "comment/"): Operation(serializers.CommentSerializer, request_bodies.CommentBody, 201),
    ("POST", ONE_TASK + "suspend/"): Operation(TASK, REASON),
    ("POST", ONE_TASK + "resume/"): Operation(TASK, REASON),
    ("POST", ONE_TASK + "reopen/"): Operation(TASK, REASON),
    ("POST", ONE_TASK + "snooze/"): Operation(TASK, request_bodies.SnoozeBody),
    ("POST", ONE_TASK + "skip/"): Operation(response_shapes.AnsweredSerializer, REASON),
    ("POST", ONE_TASK + "redo/"): Operation(response_shapes.AnsweredSerializer, REASON),
    ("GET", ONE_TASK + "why/"): Operation(response_shapes.WhySerializer, query=(asked("person"),)),
    ("POST", "signals/"): Operation(response_shapes.DeliveredSerializer, request_bodies.SignalBody),
    ("POST", "events/"): Operation(response_shapes.StartedSerializer, request_bodies.EventBody),
    ("GET", "schedules/"): listed(SCHEDULE, filters.SCHEDULES),
    ("POST", "schedules/"): Operation(SCHEDULE, request_bodies.ScheduleBody, 201),
    ("GET", ONE_SCHEDULE): Operation(SCHEDULE),
    ("PUT", ONE_SCHEDULE): Operation(SCHEDULE, request_bodies.ScheduleChangeBody),
    ("DELETE", ONE_SCHEDULE): gone(),
    ("POST", ONE_SCHEDULE + "pause/"): Operation(SCHEDULE, request_bodies.NoBody),
    ("POST", ONE_SCHEDULE + "resume/"): Operation(SCHEDULE, request_bodies.NoBody),
    ("GET", ONE_SCHEDULE + "preview/"): Operation(
        serializers.SlotSerializer(many=True),
        query=(OpenApiParameter("n", {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}),),
    ),
    ("GET", "dead-letters/"): listed(serializers.DeadLetterSerializer, filters.DEAD_LETTERS),
    ("POST", "dead-letters/{letter_id}/replay/"): Operation(INSTANCE, request_bodies.NoBody),
    ("POST", "dead-letters/{letter_id}/discard/"): Operation(INSTANCE, REASON),
    ("GET", "webhooks/"): listed(WEBHOOK, filters.WEBHOOKS),
    ("POST", "webhooks/"): Operation(
        response_shapes.NewWebhookSerializer, request_bodies.WebhookBody, 201, keyed=False
    ),
    ("GET", ONE_WEBHOOK): Operation(WEBHOOK),
    ("PUT", ONE_WEBHOOK): Operation(WEBHOOK, request_bodies.WebhookChangeBody),
    ("DELETE", ONE_WEBHOOK): gone(),
    ("POST", ONE_WEBHOOK + "pause/"): Operation(WEBHOOK, request_bodies.NoBody),
    ("POST", ONE_WEBHOOK + "resume/"): Operation(WEBHOOK, request_bodies.NoBody),
    ("POST", ONE_WEBHOOK + "rotate/"): Operation(
        response_shapes.NewWebhookSerializer, request_bodies.RotateBody, keyed=False
    ),
    ("POST", ONE_WEBHOOK + "ping/"): Operation(DELIVERY, request_bodies.NoBody, 202),
    ("POST", ONE_WEBHOOK + "replay/"): Operation(response_shapes.ReplayedSerializer, request_bodies.ReplayBody, 202),
    ("GET", "deliveries/"): listed(response_shapes.DeliverySerializer, filters.DELIVERIES),
    ("GET", "deliveries/{delivery_id}/"): Operation(DELIVERY),
    ("POST", "deliveries/{delivery_id}/replay/"): Operation(DELIVERY, request_bodies.NoBody, 202),
    ("GET", "audit/"): listed(
        serializers.AuditSerializer,
        filters.AUDIT,
        asked(
            "after", said="Follow the audit, oldest first: a position from `next`, `now`, or empty for the beginning."
        ),
    ),
    ("GET", "audit/export/"): Operation(
        OpenApiTypes.STR,
        query=(*_narrowing(filters.AUDIT), asked("format", words=FORMS)),
        media=("application/x-ndjson", "text/csv"),
    ),
    ("GET", "audit/verify/"): Operation(response_shapes.VerdictSerializer),
    ("GET", "retention/"): Operation(response_shapes.RetentionSerializer),
    ("POST", "retention/"): Operation(response_shapes.RetentionSerializer, request_bodies.RetentionBody, 202),
    ("GET", "secrets/"): listed(serializers.SecretSerializer),
    ("GET", "secrets/{name}/"): Operation(serializers.SecretSerializer),
    ("PUT", "secrets/{name}/"): Operation(serializers.SecretSerializer, request_bodies.SecretBody),
    ("DELETE", "secrets/{name}/"): gone(),
    ("GET", "calendars/"): listed(serializers.CalendarSerializer),
    ("GET", "calendars/{name}/"): Operation(serializers.CalendarSerializer),
    ("PUT", "calendars/{name}/"): Operation(serializers.CalendarSerializer, request_bodies.CalendarBody),
    ("DELETE", "calendars/{name}/"): gone(),
    ("GET", "people/"): listed(response_shapes.PersonSerializer),
    ("POST", "people/"): Operation(response_shapes.PersonSerializer, request_bodies.NewPersonBody, 201),
    ("GET", "people/{name}/"): Operation(response_shapes.PersonSerializer),
    ("PUT", "people/{name}/"): Operation(response_shapes.PersonSerializer, request_bodies.PersonBody),
    ("POST", "people/{name}/reset/"): Operation(response_shapes.PersonSerializer, request_bodies.ResetBody),
    ("POST", "people/{name}/confirm-email/"): Operation(response_shapes.PersonSerializer, request_bodies.NoBody),
    ("POST", "people/{name}/erase/"): Operation(
        response_shapes.ErasedSerializer, request_bodies.ErasureBody, keyed=False
    ),
    ("DELETE", "people/{name}/erase/"): gone(),
    ("POST", "people/{name}/export/"): Operation(OpenApiTypes.OBJECT, request_bodies.NoBody, keyed=False),
    ("GET", "roles/"): listed(response_shapes.RoleSerializer),
    ("POST", "roles/"): Operation(response_shapes.RoleSerializer, request_bodies.NewRoleBody, 201),
    ("GET", "roles/{name}/"): Operation(response_shapes.RoleSerializer),
    ("PUT", "roles/{name}/"): Operation(response_shapes.RoleSerializer, request_bodies.RoleBody),
    ("GET", "substitutions/"): listed(response_shapes.SubstitutionSerializer, filters.SUBSTITUTIONS),
    ("POST", "substitutions/"): Operation(
        response_shapes.SubstitutionDetailSerializer, request_bodies.SubstitutionBody, 201
    ),
    ("GET", "substitutions/{absence_id}/"): Operation(response_shapes.SubstitutionDetailSerializer),
    ("PUT", "substitutions/{absence_id}/"): Operation(
        response_shapes.SubstitutionDetailSerializer, request_bodies.SubstitutionChangeBody
    ),
    ("DELETE", "substitutions/{absence_id}/"): gone(),
    ("GET", "tokens/"): listed(response_shapes.TokenSerializer),
    ("POST", "tokens/"): Operation(response_shapes.NewTokenSerializer, request_bodies.NewTokenBody, 201, keyed=False),
    ("GET", "tokens/{key}/"): Operation(response_shapes.TokenSerializer),
    ("DELETE", "tokens/{key}/"): gone(),
    ("GET", "stats/"): Operation(response_shapes.StatsSerializer),
    ("GET", "stream/"): Operation(
        OpenApiTypes.STR,
        query=(LAST_EVENT, asked("after", said="The same as Last-Event-ID, for clients that cannot send headers.")),
        media=("text/event-stream",),
        others=(501,),
    ),
    ("GET", "health/"): Operation(response_shapes.HealthSerializer, open=True),
}
