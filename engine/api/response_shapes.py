"""Shapes of answers that are put together from several parts; they describe, the views write them."""

from typing import Any

from drf_spectacular.utils import extend_schema_field, inline_serializer
from rest_framework import serializers

from engine.api.serializers import (
    AuditSerializer,
    BrokenSerializer,
    BulkResultSerializer,
    InstanceSerializer,
    Moment,
    ReasonSerializer,
    Rows,
    SavedVersionSerializer,
    TaskSerializer,
    TemplateSerializer,
    VersionLineSerializer,
)
from engine.models.webhook import DELIVERY_STATUSES, STATUSES
from engine.services.people.absences import warn_about
from workflowplatform.accounts.models import Kind


class FindingSerializer(Rows):
    """What is wrong in a document, where, and what to do."""

    code = serializers.CharField()
    severity = serializers.CharField()
    message = serializers.CharField()
    line = serializers.IntegerField(allow_null=True)
    column = serializers.IntegerField(allow_null=True)
    path = serializers.CharField()
    hint = serializers.CharField(allow_null=True)


class CheckedDocumentSerializer(Rows):
    """One document of a set, checked with the others."""

    name = serializers.CharField(allow_null=True)
    findings = FindingSerializer(many=True)
    canonical = serializers.DictField(required=False)
    sha256 = serializers.CharField(required=False)


class CheckedSerializer(Rows):
    """A document checked; its canonical form only where it is clean. A set lists each in `documents`."""

    findings = FindingSerializer(many=True)
    canonical = serializers.DictField(required=False)
    sha256 = serializers.CharField(required=False)
    documents = CheckedDocumentSerializer(many=True, required=False)


class SavedSetSerializer(SavedVersionSerializer):
    """What saving answers; of a set the first, and all of them in `versions`."""

    versions = SavedVersionSerializer(many=True, required=False)


class ActivatedSetSerializer(Rows):
    versions = SavedVersionSerializer(many=True)


class TemplateDetailSerializer(TemplateSerializer):
    input = serializers.JSONField(allow_null=True)
    versions = VersionLineSerializer(many=True)


class SimulatedSerializer(Rows):
    passed = serializers.BooleanField()
    failures = serializers.ListField(child=serializers.CharField())
    result = serializers.JSONField()


class DifferenceSerializer(Rows):
    kind = serializers.CharField()
    step = serializers.CharField(allow_null=True)
    field = serializers.CharField(allow_null=True)
    old = serializers.JSONField(allow_null=True)
    new = serializers.JSONField(allow_null=True)
    text = serializers.CharField()
    running_here = serializers.IntegerField(allow_null=True)


class DifferencesSerializer(Rows):
    version = serializers.IntegerField()
    against = serializers.IntegerField(allow_null=True)
    differences = DifferenceSerializer(many=True)


class AnsweredSerializer(InstanceSerializer):
    """The instance after an answer, and the task just completed."""

    task = TaskSerializer()


class BulkSerializer(Rows):
    results = BulkResultSerializer(many=True)


class WhySerializer(Rows):
    task = serializers.UUIDField()
    person = serializers.CharField()
    may_act = serializers.BooleanField()
    reasons = ReasonSerializer(many=True)


class SignalledSerializer(Rows):
    delivered = serializers.BooleanField()
    kept = serializers.BooleanField()


class DeliveredSerializer(Rows):
    delivered = serializers.ListField(child=serializers.UUIDField())
    kept = serializers.BooleanField()


class FieldErrorSerializer(Rows):
    path = serializers.CharField()
    code = serializers.CharField()
    message = serializers.CharField()


class RefusedStartSerializer(Rows):
    """A template that listens for the event and was not started by it."""

    template = serializers.CharField()
    code = serializers.CharField()
    detail = serializers.CharField(source="message")
    errors = FieldErrorSerializer(many=True)  # type: ignore[assignment]  # the name that every refusal gives them


class StartedSerializer(Rows):
    started = serializers.ListField(child=serializers.UUIDField())
    refused = RefusedStartSerializer(many=True)


class VerdictSerializer(Rows):
    ok = serializers.BooleanField()
    rows = serializers.IntegerField()
    chains = serializers.IntegerField()
    broken = BrokenSerializer(many=True)


class HealthSerializer(Rows):
    """Whether the platform serves; the rest for operators."""

    status = serializers.CharField()
    version = serializers.CharField()
    database = serializers.CharField(required=False)
    redis = serializers.CharField(required=False)
    work = serializers.CharField(required=False)
    schema = serializers.CharField(required=False)
    pending_signals = serializers.IntegerField(required=False)
    oldest_due_seconds = serializers.FloatField(required=False)
    limbo = serializers.IntegerField(required=False)
    dead_letters = serializers.IntegerField(required=False)
    unavailable = serializers.IntegerField(required=False)
    workers = serializers.IntegerField(required=False)


class PersonSerializer(Rows):
    name = serializers.CharField(source="username")
    kind = serializers.ChoiceField(choices=Kind.values)
    full_name = serializers.CharField()
    email = serializers.CharField()
    email_held_until = Moment(
        allow_null=True,
        help_text="Until then no link is sent to the new address, unless a second person of level 5 confirms it.",
    )
    level = serializers.IntegerField()
    roles = serializers.SerializerMethodField()
    leads = serializers.SerializerMethodField()
    active = serializers.BooleanField(source="is_active")
    manager = serializers.CharField(source="manager.username", default=None, allow_null=True)
    made_by = serializers.CharField()
    created_at = Moment()

    def get_roles(self, person: Any) -> list[str]:
        return sorted(role.name for role in person.roles.all())

    def get_leads(self, person: Any) -> list[str]:
        led = {one.role_id for one in person.memberships.all() if one.leads}
        return sorted(role.name for role in person.roles.all() if role.pk in led)


class NoticeSerializer(Rows):
    """Something that an absence brings about and that does not forbid it."""

    code = serializers.CharField()
    message = serializers.CharField()
    template = serializers.CharField(source="facts.template", default=None, allow_null=True)
    step = serializers.CharField(source="facts.step", default=None, allow_null=True)
    until = Moment(source="facts.until", default=None, allow_null=True)
    people = serializers.ListField(source="facts.people", default=list)
    here = serializers.ListField(source="facts.here", default=list)

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "from": Moment(source="facts.from", default=None, allow_null=True)}


class SubstitutionSerializer(Rows):
    """An absence and its deputy."""

    id = serializers.UUIDField()
    person = serializers.CharField(source="person.username")
    deputy = serializers.CharField(source="deputy.username", default=None, allow_null=True)
    until = Moment(source="ends_at")
    roles = serializers.ListField()
    templates = serializers.ListField()
    note = serializers.CharField()
    keeps_open = serializers.BooleanField()
    entered_by = serializers.CharField()
    entered_at = Moment()

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "from": Moment(source="starts_at")}


class SubstitutionDetailSerializer(SubstitutionSerializer):
    """The same, with what it brings about."""

    warnings = serializers.SerializerMethodField()

    @extend_schema_field(NoticeSerializer(many=True))
    def get_warnings(self, absence: Any) -> list[Any]:
        return NoticeSerializer.write_all(warn_about(absence))


class MentionSerializer(Rows):
    """A text or a value that still speaks of the person; nothing changes it."""

    table = serializers.CharField()
    id = serializers.CharField()
    field = serializers.CharField()


class ErasureSerializer(Rows):
    """An erasure that is asked for; one that is done has `done_at`."""

    id = serializers.UUIDField()
    pseudonym = serializers.CharField(help_text="The name that replaces the person's.")
    reason = serializers.CharField()
    asked_by = serializers.CharField(source="asked_by_name")
    asked_at = Moment()
    agreed_by = serializers.CharField(source="agreed_by_name")
    done_at = Moment(allow_null=True)
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="What was erased, by kind.")


class ErasedSerializer(Rows):
    erasure = ErasureSerializer()
    mentions = MentionSerializer(many=True)


class RoleSerializer(Rows):
    name = serializers.CharField()
    title = serializers.CharField()
    confidential = serializers.BooleanField()


class TokenSerializer(Rows):
    """A token without its text: nobody reads that back."""

    key = serializers.CharField(source="token_key")
    name = serializers.CharField()
    person = serializers.CharField(source="user.username")
    scopes = serializers.ListField(child=serializers.CharField())
    made_by = serializers.CharField()
    created_at = Moment(source="created")
    expires_at = Moment(source="expiry", allow_null=True)
    last_used_at = Moment(allow_null=True)


class NewTokenSerializer(TokenSerializer):
    """A token just made, with its text, this once."""

    token = serializers.CharField()


class StatsSerializer(Rows):
    """What a dashboard shows: how many there are in each status, and what waits too long."""

    instances = serializers.DictField(child=serializers.IntegerField())
    tasks = serializers.DictField(child=serializers.IntegerField())
    tasks_overdue = serializers.IntegerField()
    dead_letters = serializers.IntegerField()
    templates = serializers.ListField(child=serializers.DictField())


_pages: dict[type[Rows], Any] = {}


def page_of_rows(shape: type[Rows]) -> Any:
    """Return the shape of a page of a list."""
    if shape not in _pages:
        beside: dict[str, serializers.Field[Any, Any, Any, Any]] = {
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
        }
        if shape is AuditSerializer:
            beside["more"] = serializers.BooleanField(required=False)
        name = shape.__name__.removesuffix("Serializer") + "Page"
        _pages[shape] = inline_serializer(name, {"results": shape(many=True), **beside})
    return _pages[shape]


class WebhookSerializer(Rows):
    """A webhook without its secret."""

    id = serializers.UUIDField()
    title = serializers.CharField()
    url = serializers.CharField()
    events = serializers.ListField(child=serializers.CharField())
    templates = serializers.ListField(child=serializers.CharField())
    status = serializers.ChoiceField(STATUSES)
    reason = serializers.CharField(help_text="Why it was disabled.")
    owner = serializers.CharField(source="owner_name")
    failures = serializers.IntegerField(help_text="Failed attempts in a row.")
    failing_since = Moment(allow_null=True)
    delivered_at = Moment(allow_null=True)
    old_secret_until = Moment(allow_null=True)
    created_at = Moment()
    changed_at = Moment()


class NewWebhookSerializer(WebhookSerializer):
    """A webhook with its new secret, this once."""

    secret = serializers.CharField()


class DeliverySerializer(Rows):
    """One event for one webhook."""

    id = serializers.UUIDField()
    webhook = serializers.UUIDField(source="webhook_id")
    event = serializers.CharField()
    instance = serializers.UUIDField(source="instance_id", allow_null=True)
    status = serializers.ChoiceField(DELIVERY_STATUSES)
    attempts = serializers.IntegerField()
    due_at = Moment(help_text="When the next attempt is due, while it is pending.")
    created_at = Moment()
    ended_at = Moment(allow_null=True)


class RetentionRuleSerializer(Rows):
    """How long a template's ended work is kept, as ISO durations; without a template: of all that have no rule."""

    template = serializers.CharField(source="template.name", default=None, allow_null=True)
    completed_for = serializers.CharField()
    cancelled_for = serializers.CharField()
    runtime_for = serializers.CharField()
    audit_for = serializers.CharField()


class RetentionRunSerializer(Rows):
    """A run of the rules; one that is not over has no `ended_at`."""

    id = serializers.UUIDField()
    began_at = Moment()
    ended_at = Moment(allow_null=True)
    asked_by = serializers.CharField(help_text="Empty: done by the workers on schedule.")
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="What was deleted, by kind.")
    error = serializers.CharField()


class PurgedSerializer(Rows):
    """What would go of one template."""

    template = serializers.CharField()
    completed = serializers.IntegerField()
    cancelled = serializers.IntegerField()
    runtime = serializers.IntegerField()
    audit = serializers.IntegerField()


class RetentionSerializer(Rows):
    rules = RetentionRuleSerializer(many=True)
    last_run = RetentionRunSerializer(allow_null=True)
    preview = PurgedSerializer(many=True)


class AttemptSerializer(Rows):
    number = serializers.IntegerField()
    began_at = Moment()
    ended_at = Moment(allow_null=True)
    status = serializers.IntegerField(allow_null=True)
    error = serializers.CharField()
    answer = serializers.CharField(help_text="The beginning of the answer.")


class DeliveryDetailSerializer(DeliverySerializer):
    body = serializers.CharField(help_text="The body, byte for byte.")
    log = AttemptSerializer(many=True)


class ReplayedSerializer(Rows):
    replayed = serializers.IntegerField()


class RemindedTaskSerializer(Rows):
    id = serializers.UUIDField()


class RemindedSerializer(Rows):
    tasks = RemindedTaskSerializer(many=True, help_text="The tasks whose people were reminded.")
    letters = serializers.IntegerField(help_text="How many e-mails are on their way.")
