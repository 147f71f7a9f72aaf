"""What may be sent: one serializer per body. Unknown fields are refused by name; nothing is guessed from a wrong type."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from engine.db.keyset_pagination import moment
from engine.errors import Invalid, NotFound
from engine.kernel.expressions.secret_redaction import SHORTEST
from engine.kernel.forms import FieldError
from engine.kernel.timing.cron import Dst
from engine.kernel.timing.periods import parse_period
from engine.models.schedule import CATCH_UPS, OVERLAPS
from engine.services.templates.document_sets import MOST_DOCUMENTS
from engine.services.tenants.settings import MOST_ORIGINS
from engine.services.webhooks.events import EVENTS
from workflowplatform.accounts.models import Kind
from workflowplatform.accounts.scopes import Scope

DAY = len("2030-01-07")
LONGEST_SOURCE = 1_000_000
LONGEST_SECRET = 10_000
MOST_NAMED, LONGEST_NAME = 50, 200
"""How many unknown fields an answer names, and how much of each name."""
CONFIDENTIAL = "A deputy gets its work only if the absent person chooses it."
MOST_ENTRIES = 200
"""How many acts or signals one simulation may name."""


class Text(serializers.CharField):
    """A text; a number is not one."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"trim_whitespace": False, **kwargs})

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


class Whole(serializers.IntegerField):
    """A whole number; a text with digits is not one."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return int(super().to_internal_value(data))


class Flag(serializers.BooleanField):
    """True or false; a word is neither."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


@extend_schema_field(OpenApiTypes.DATETIME)
class MomentText(serializers.Field[datetime, Any, str, Any]):
    """A moment that names its zone."""

    default_error_messages = {"invalid": "Enter a time with its time zone, such as 2030-01-07T09:00:00Z."}

    def to_internal_value(self, data: Any) -> datetime:
        try:
            return moment(data)
        except (ValueError, TypeError):
            self.fail("invalid")


class DurationText(Text):
    """A span of time as ISO 8601 writes it."""

    default_error_messages = {"duration": "Enter a duration such as P30D or PT12H."}

    def to_internal_value(self, data: Any) -> Any:
        try:
            return parse_period(super().to_internal_value(data)).length
        except (ValueError, OverflowError):
            self.fail("duration")


@extend_schema_field(OpenApiTypes.OBJECT)
class Values(serializers.JSONField):
    """An object with any JSON inside."""

    default_error_messages = {"object": "This must be an object."}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            self.fail("object")
        return super().to_internal_value(data)


class Word(serializers.ChoiceField):
    """One of a few words; the error for another one lists them."""

    def __init__(self, choices: Sequence[str], **kwargs: Any) -> None:
        super().__init__(choices, error_messages={"invalid_choice": f"Use one of {', '.join(choices)}."}, **kwargs)


class Body(serializers.Serializer[Any]):
    """A body: an object with the declared fields and no others."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, Mapping) else []
        if unknown:
            raise Invalid(
                f"Unknown field: {unknown[0][:LONGEST_NAME]}.",
                [FieldError(name[:LONGEST_NAME], "unknown", "Unknown field.") for name in unknown[:MOST_NAMED]],
            )
        return super().to_internal_value(data)


class NoBody(Body):
    """Nothing need be said."""


class SourceBody(Body):
    source = Text(max_length=LONGEST_SOURCE, allow_blank=True)  # type: ignore[assignment]


class ChosenVersionBody(Body):
    name = Text(max_length=100)
    version = Whole(min_value=1)


class ActivateSetBody(Body):
    versions = serializers.ListField(child=ChosenVersionBody(), min_length=1, max_length=MOST_DOCUMENTS)


class DraftBody(SourceBody):
    revision = Whole(
        required=False, min_value=1, help_text="The revision you started from. Changes by another author are then kept."
    )


class StartBody(Body):
    template = Text(max_length=100)
    version = Whole(required=False, allow_null=True, min_value=1, max_value=2**31 - 1)
    input = serializers.JSONField(required=False, default=dict)
    reference = Text(required=False, allow_null=True, max_length=200)


class CompleteBody(Body):
    outcome = Text(required=False, allow_null=True, max_length=100)
    values = Values(required=False, default=dict)
    comment = Text(required=False, allow_blank=True, default="", max_length=10_000)
    ticked = serializers.ListField(child=Text(max_length=100), required=False, default=list, max_length=200)


class TickBody(Body):
    """One point of a checklist."""

    point = Text(max_length=100)
    done = Flag(required=False, default=True)


class ReasonBody(Body):
    reason = Text(required=False, allow_blank=True, default="", max_length=1_000)


class AssignBody(ReasonBody):
    """The person to assign a task to; null offers it to everybody again."""

    user = Text(allow_null=True, max_length=100, source="person")


class TaskDraftBody(Body):
    """An answer begun; nothing of it need be right."""

    values = Values(required=False, default=dict)
    outcome = Text(required=False, allow_blank=True, default="", max_length=100)
    comment = Text(required=False, allow_blank=True, default="", max_length=10_000)


class FileBody(Body):
    """A form with one file."""

    file = serializers.FileField()


class DelegateBody(Body):
    """The person who fills the task in, and a note to them."""

    user = Text(max_length=100)
    note = Text(required=False, allow_blank=True, default="", max_length=1_000)


class AskBody(Body):
    """The person to ask, and the question."""

    user = Text(max_length=100)
    question = Text(max_length=2_000)


class ReturnBody(Body):
    """What is said with it: the answer to a question, or a note."""

    note = Text(required=False, allow_blank=True, default="", max_length=2_000)


class CommentBody(Body):
    text = Text(max_length=10_000)


class SnoozeBody(Body):
    until = MomentText(allow_null=True)


class NextBody(Body):
    template = Text(required=False, allow_null=True, max_length=100)
    role = Text(required=False, allow_null=True, max_length=100)


class BulkBody(ReasonBody):
    """One act and the tasks that it is done to."""

    action = Word(["claim", "release", "assign", "complete"])
    ids = serializers.ListField(child=serializers.UUIDField(), min_length=1, max_length=200, source="task_ids")
    user = Text(required=False, allow_null=True, max_length=100, source="person")
    outcome = Text(required=False, allow_blank=True, default="", max_length=100, help_text="For `complete`.")
    comment = Text(required=False, allow_blank=True, default="", max_length=10_000, help_text="For `complete`.")


class InstanceSignalBody(Body):
    """A named signal to one instance; its `id` is the sender's own."""

    name = Text(max_length=200)
    payload = serializers.JSONField(required=False, allow_null=True, default=None)
    id = Text(required=False, allow_null=True, max_length=200, source="signal_id")
    require = Flag(
        required=False, default=False, help_text="Refuse with 409 `nobody_waits` if no step is waiting for it now."
    )


class SignalBody(Body):
    """A named signal to the instance that waits for its key."""

    name = Text(max_length=200)
    key = Text(max_length=200)
    payload = serializers.JSONField(required=False, allow_null=True, default=None)
    id = Text(required=False, allow_null=True, max_length=200, source="external_id")
    ttl = Text(required=False, allow_null=True, max_length=40)
    all = Flag(required=False, default=False, source="everybody")
    require = Flag(
        required=False, default=False, help_text="Refuse with 409 `nobody_waits` if no instance is waiting for it."
    )


class EventBody(Body):
    name = Text(max_length=200)
    id = Text(max_length=200, source="external_id")
    payload = serializers.JSONField(required=False, allow_null=True, default=None)
    key = Text(required=False, allow_null=True, max_length=200)


class RetryBody(ReasonBody):
    step = Text(required=False, allow_null=True, max_length=100)
    input = serializers.DictField(required=False, allow_null=True)


class SkipBody(ReasonBody):
    step = Text(required=False, allow_null=True, max_length=100)
    output = serializers.JSONField(required=False, allow_null=True, default=None)


class ScheduleChangeBody(Body):
    """When a schedule starts and with what; what is left out stays."""

    cron = Text(required=False, allow_blank=True, max_length=200)
    once_at = MomentText(required=False, allow_null=True)
    timezone = Text(required=False, max_length=64, source="time_zone")
    dst = Word(list(Dst), required=False)
    calendar = Text(required=False, max_length=63)
    overlap = Word(OVERLAPS, required=False)
    catch_up = Word(CATCH_UPS, required=False)
    window = Text(required=False, max_length=40)
    input = Values(required=False)


class ScheduleBody(ScheduleChangeBody):
    """When a template starts by the clock: `cron` or `once_at`, and the words of a template's own schedule."""

    template = Text(max_length=100)
    cron = Text(required=False, max_length=200)
    once_at = MomentText(required=False)


class NewPersonBody(Body):
    """A new person."""

    name = Text(max_length=100)
    level = Whole(min_value=1, max_value=6)
    roles = serializers.ListField(child=Text(max_length=63), required=False, max_length=200)
    email = Text(required=False, allow_blank=True, max_length=254)
    full_name = Text(required=False, allow_blank=True, max_length=200)
    kind = Word(list(Kind.values), required=False, help_text="`service`: an account for a program, with tokens only.")


class PersonBody(Body):
    """What is to change of a person; what is left out stays."""

    full_name = Text(required=False, allow_blank=True, max_length=200)
    email = Text(required=False, allow_blank=True, max_length=254)
    level = Whole(required=False, min_value=1, max_value=6)
    roles = serializers.ListField(child=Text(max_length=63), required=False, max_length=200)
    leads = serializers.ListField(
        child=Text(max_length=63),
        required=False,
        max_length=200,
        help_text="Those of their roles whose team they lead.",
    )
    active = Flag(required=False)
    manager = Text(required=False, allow_null=True, max_length=100)


@extend_schema_field(OpenApiTypes.DATE)
class DayOrMoment(serializers.Field[Any, Any, str, Any]):
    """A day, in the person's own zone, or a moment that names its zone."""

    default_error_messages = {"invalid": "Enter a day such as 2030-01-07, or a time with its time zone."}

    def to_internal_value(self, data: Any) -> date | datetime:
        try:
            return date.fromisoformat(data) if len(data) == DAY else moment(data)
        except (ValueError, TypeError):
            self.fail("invalid")


class SubstitutionChangeBody(Body):
    """What is to change of an absence; what is left out stays."""

    deputy = Text(required=False, allow_null=True, max_length=100)
    roles = serializers.ListField(
        child=Text(max_length=63), required=False, max_length=200, help_text="Roles that the deputy takes; none: all."
    )
    templates = serializers.ListField(
        child=Text(max_length=100), required=False, max_length=200, help_text="Templates; none: all."
    )
    note = Text(required=False, allow_blank=True, max_length=500)
    keeps_open = Flag(required=False, help_text="Tasks of before the absence stay with the person alone.")

    def get_fields(self) -> dict[str, Any]:
        """Add the two times: the name of one is a word of Python."""
        required = isinstance(self, SubstitutionBody)
        times = {
            "from": DayOrMoment(required=required, source="starts_at"),
            "until": DayOrMoment(required=required, source="ends_at", help_text="The last day, or the moment it ends."),
        }
        return {**super().get_fields(), **times}


class SubstitutionBody(SubstitutionChangeBody):
    """An absence: the person, the times and the deputy."""

    person = Text(max_length=100)
    deputy = Text(allow_null=True, max_length=100)


class ResetBody(Body):
    """Whether the person's tokens end too."""

    end_tokens = Flag(required=False)


class RoleBody(Body):
    """What is to change of a role; what is left out stays."""

    title = Text(required=False, allow_blank=True, max_length=200)
    confidential = Flag(required=False, help_text=CONFIDENTIAL)


class ErasureBody(Body):
    reason = Text(
        required=False,
        allow_blank=True,
        default="",
        max_length=2000,
        help_text="Required for the first of the two requests.",
    )


class NewRoleBody(Body):
    name = Text(max_length=63)
    title = Text(required=False, allow_blank=True, max_length=200)
    confidential = Flag(required=False, help_text=CONFIDENTIAL)


class NewTokenBody(Body):
    """A token for oneself, or for a service account that one manages."""

    name = Text(required=False, allow_blank=True, max_length=100)
    person = Text(required=False, allow_null=True, max_length=100)
    scopes = serializers.ListField(child=Word(list(Scope)), required=False, max_length=len(Scope))
    expires_in = DurationText(required=False, allow_null=True)


class WebhookChangeBody(Body):
    """The URL and the events of a webhook; fields that are left out stay unchanged."""

    title = Text(required=False, allow_blank=True, max_length=200)
    url = Text(required=False, max_length=2000)
    events = serializers.ListField(child=Word(list(EVENTS)), required=False, min_length=1, max_length=len(EVENTS))
    templates = serializers.ListField(
        child=Text(max_length=100), required=False, max_length=200, help_text="Names. Empty: all."
    )


class WebhookBody(WebhookChangeBody):
    """The URL and the events of a new webhook."""

    url = Text(max_length=2000)
    events = serializers.ListField(child=Word(list(EVENTS)), min_length=1, max_length=len(EVENTS))


class RotateBody(ReasonBody):
    """How long the previous secret stays valid."""

    keep_for = DurationText(required=False)


class ReplayBody(Body):
    """From when on what failed is sent again; without it all of it."""

    since = MomentText(required=False, allow_null=True)


class RetentionBody(Body):
    dry_run = Flag(required=False, default=False, help_text="Only show what would be deleted.")


class SecretBody(Body):
    value = Text(required=False, min_length=SHORTEST, max_length=LONGEST_SECRET)
    origins = serializers.ListField(
        child=Text(max_length=300), required=False, max_length=MOST_ORIGINS,
        help_text="Where it may be sent, such as `https://api.example.com`. Empty: anywhere. Without `value`: only fewer.",
    )  # fmt: skip


class CalendarBody(Body):
    """A calendar as authors write it; its content is checked by the service."""

    title = Text(required=False, allow_blank=True, max_length=200)
    timezone = serializers.JSONField(required=False)
    hours = serializers.JSONField(required=False)
    holidays = serializers.JSONField(required=False)
    half_days = serializers.JSONField(required=False)


class SimulationBody(Body):
    """A test as a template carries it."""

    name = Text(required=False, max_length=200)
    description = Text(required=False, allow_blank=True, max_length=10_000)
    people = Values(required=False)
    at = Text(required=False, max_length=40)
    start = serializers.JSONField(required=False, allow_null=True)
    answers = Values(required=False)
    calls = Values(required=False)
    calendars = Values(required=False)
    signals = serializers.ListField(child=Values(), required=False, max_length=MOST_ENTRIES)
    do = serializers.ListField(child=Values(), required=False, max_length=MOST_ENTRIES)
    expect = Values(required=False)

    def get_fields(self) -> dict[str, Any]:
        """Add `as`, which Python keeps for itself."""
        return {**super().get_fields(), "as": Text(required=False, max_length=100)}


def read_body(request: Request, shape: type[Body]) -> dict[str, Any]:
    """Return what was sent, checked, or refuse it field by field."""
    if not isinstance(request.data, Mapping):
        message = "The body must be a JSON object."
        raise Invalid(message, [FieldError("", "object", message)])
    body = shape(data=request.data)
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)


@contextmanager
def naming(*fields: str) -> Iterator[None]:
    """Name the fields of the body that refer to something missing, so that the URL is not suspected."""
    try:
        yield
    except NotFound as nothing:
        listed = " and ".join(fields).capitalize()
        message = f"{listed} not found, or you can't see {'them' if len(fields) > 1 else 'it'}."
        raise NotFound(message, [FieldError(field, "not_found", message) for field in fields]) from nothing
