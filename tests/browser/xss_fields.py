"""Every text that the database keeps and every text that REST takes, and what the XSS tests do with each.

Both lists are derived: texts from the models of all installed apps, bodies from `engine/api/request_bodies.py`. A field
without a row here fails tests/admin/test_xss_fields.py, so a new one cannot be left out of the corpus by accident.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import models
from rest_framework import serializers

from engine.api.request_bodies import Body, DurationText


def _rows(table: dict[str, str]) -> list[str]:
    return [f"{model}.{field}" for model, fields in table.items() for field in fields.split()]


WRITTEN: tuple[str, ...] = tuple(
    _rows(
        {
            "accounts.absence": "roles templates note entered_by",
            "accounts.role": "title",
            "accounts.signintally": "key",
            "accounts.tenant": "title http_allow",
            "accounts.token": "name made_by used_from",
            "accounts.user": "full_name email made_by same_eyes email_changed_by",
            "engine.journalrow": "actor_name step iteration cause old new",
            "engine.bulkact": "reason arguments started_by_name stopped_by_name",
            "engine.bulkreport": "query results words",
            "engine.bulkrow": "subject_name message",
            "engine.businesscalendar": "title content",
            "engine.casefile": "name added_by_name",
            "engine.deadletter": "envelope reason node",
            "engine.deliveryattempt": "error answer",
            "engine.diagram": "made_with",
            "engine.effect": "path request key result",
            "engine.erasure": "pseudonym reason asked_by_name agreed_by_name counts",
            "engine.event": "name external_id key payload answer actor_name",
            "engine.heldreference": "reference",
            "engine.hostlock": "name holder",
            "engine.idempotencykey": "route key answer",
            "engine.instance": "reference title reference_parts outcome input state output error started_by_name",
            "engine.listsettings": "columns",
            "engine.keptsignal": "name key payload sent_by_name",
            "engine.notification": "actor_name text key error",
            "engine.notificationsettings": "mail push bounce",
            "engine.pendinganswer": "outcome values comment ticked refusal refusal_text",
            "engine.place": "key",
            "engine.pushsubscription": "endpoint browser",
            "engine.rate": "key",
            "engine.retentionrun": "asked_by error",
            "engine.rolechat": "failure",
            "engine.runtimestate": "business_reference resume_pointer last_error_code last_error_json last_executed_by",
            "engine.savedfilter": "owner_name name query",
            "engine.schedule": "input owner_name",
            "engine.schedulefire": "reason",
            "engine.secret": "origins changed_by_name",
            "engine.signal": "payload",
            "engine.storedsteprun": "step path iteration input output error reason",
            "engine.task": "step path iteration name type route title description instructions payload users excluded"
            " familiar answered_by extra ticked owner business_reference completed_by_name outcome answer comment"
            " completed_for_name delegated_by_name waiting_for_name prepared_by",
            "engine.startdraft": "values",
            "engine.taskattachment": "name added_by_name",
            "engine.taskcomment": "text author_name",
            "engine.taskdraft": "values outcome comment saved_by_name",
            "engine.taskquestion": "text asked_by_name asked_of_name answer answered_by_name",
            "engine.taskevent": "actor_name cause old new",
            "engine.template": "title description tags",
            "engine.templateversion": "event_name source findings created_by_name unavailable activated_by_name",
            "engine.turn": "step person_name",
            "engine.wait": "step path iteration name key",
            "engine.webhook": "title url templates reason owner_name",
            "engine.webhookdelivery": "body",
        }
    )
)
"""Fields that get payloads."""

NOT_SEEN: dict[str, str] = {
    **dict.fromkeys(
        _rows(
            {
                "accounts.signintally": "key",
                "engine.event": "name external_id key payload answer actor_name",
                "engine.heldreference": "reference",
                "engine.hostlock": "name holder",
                "engine.idempotencykey": "route key answer",
                "engine.keptsignal": "name key payload sent_by_name",
                "engine.notification": "key",
                "engine.place": "key",
                "engine.pushsubscription": "endpoint",
                "engine.rate": "key",
                "engine.turn": "step person_name",
            }
        ),
        "a table, or a column, that only the engine reads: no page lists it",
    ),
    **dict.fromkeys(
        _rows(
            {
                "accounts.token": "used_from",
                "accounts.user": "same_eyes",
                "engine.bulkact": "arguments",
                "engine.bulkreport": "words",
                "engine.casefile": "added_by_name",
                "engine.diagram": "made_with",
                "engine.task": "path name ticked owner prepared_by",
                "engine.taskdraft": "outcome",
                "engine.templateversion": "event_name",
            }
        ),
        "no page draws it: the engine compares or computes with it",
    ),
    **dict.fromkeys(
        _rows(
            {
                "engine.journalrow": "iteration",
                "engine.effect": "request result",
                "engine.retentionrun": "asked_by",
                "engine.runtimestate": "business_reference",
                "engine.task": "iteration",
            }
        ),
        "no page draws it: REST and exports answer it as JSON or CSV, which no browser takes for markup",
    ),
    **dict.fromkeys(
        _rows(
            {
                "engine.erasure": "pseudonym agreed_by_name counts",
            }
        ),
        "no page draws it: what remains of a person who was erased is named by the rows themselves",
    ),
    **dict.fromkeys(
        _rows(
            {
                "accounts.absence": "roles templates entered_by",
                "engine.taskquestion": "answer answered_by_name",
            }
        ),
        "no page draws it: the form offers the roles that there are, and an answer is shown as the comment it becomes",
    ),
    **dict.fromkeys(
        _rows({"engine.journalrow": "step"}),
        "only rows of earlier releases have it: acts keep theirs in `acts`, which the platform writes",
    ),
    **dict.fromkeys(
        _rows(
            {
                "engine.savedfilter": "owner_name",
            }
        ),
        "drawn for others than the owner only, who is the one that looks",
    ),
    **dict.fromkeys(
        _rows({"engine.pendinganswer": "outcome values comment ticked refusal refusal_text"}),
        "an answer on its way: what was typed is drawn only as the draft that it becomes",
    ),
    **dict.fromkeys(
        _rows({"engine.notificationsettings": "mail push"}),
        "no page draws it as it is: wishes are looked up by kind, and what is unknown is left out",
    ),
    **dict.fromkeys(
        _rows({"engine.listsettings": "columns"}),
        "no page draws it as it is: columns are looked up by it, and what is unknown is left out",
    ),
}
"""Fields with payloads that no page shows, each with the reason. A field that a page does show may not be here."""

STRUCTURE = "a structure that the platform wrote and computes with; its texts are the template's, which is written with payloads"
WORD = "a word of the platform's own; people cannot write it"
DIGEST = "a digest, a signature, or what one is made of; people cannot write it"
BY_THE_PLATFORM = (STRUCTURE, WORD, DIGEST)
"""Reasons that hold only while no request stores the field. tests/admin/test_odd_values.py writes markup into many of them."""

LEFT: dict[str, str] = {
    **dict.fromkeys(
        _rows({"accounts.user": "password", "accounts.token": "digest token_key"}),
        "a hash or the half of one; never drawn as given",
    ),
    **dict.fromkeys(
        _rows(
            {
                "accounts.role": "name",
                "accounts.tenant": "name",
                "accounts.user": "username",
                "engine.businesscalendar": "name",
                "engine.schedule": "calendar",
                "engine.secret": "name",
                "engine.task": "answer_by_name",
                "engine.template": "name",
            }
        ),
        "a name in addresses and keys: letters, digits, _ and - only, by validators at every way in",
    ),
    **dict.fromkeys(
        _rows(
            {
                "accounts.user": "time_zone language",
                "engine.listsettings": "start_view",
                "engine.rolechat": "language",
                "engine.retentionrule": "completed_for cancelled_for runtime_for audit_for",
                "engine.schedule": "time_zone cron dst window",
            }
        ),
        "one of a closed set, or a grammar of its own; pages compute with it",
    ),
    **dict.fromkeys(
        _rows(
            {
                "accounts.token": "scopes",
                "engine.diagram": "geometry",
                "engine.effect": "secrets",
                "engine.retentionrun": "counts",
                "engine.runtimestate": "snapshot",
                "engine.task": "form outcomes columns effective_roles",
                "engine.templateversion": "canonical",
                "engine.webhook": "events",
            }
        ),
        STRUCTURE,
    ),
    **dict.fromkeys(
        _rows(
            {
                "engine.journalrow": "action subject_kind",
                "engine.auditplainend": "subject_kind",
                "engine.bulkact": "action",
                "engine.bulkreport": "action",
                "engine.casefile": "content_type",
                "engine.effect": "transport",
                "engine.runtimestate": "runtime_provider runtime_status waiting_kind",
                "engine.signal": "runtime_provider",
                "engine.signalreceipt": "type",
                "engine.storedsteprun": "kind",
                "engine.task": "comment_rule",
                "engine.taskattachment": "content_type",
                "engine.taskevent": "kind",
                "engine.webhookdelivery": "event",
            }
        ),
        WORD,
    ),
    **dict.fromkeys(
        _rows(
            {
                "accounts.tenant": "audit_hash",
                "accounts.user": "audit_hash",
                "engine.journalrow": "hash acts told",
                "engine.auditanchor": "hash seal",
                "engine.auditplainend": "hash seal",
                "engine.auditredaction": "seal",
                "engine.auditroot": "digest statement signature public_key file",
                "engine.casefile": "sha256",
                "engine.diagram": "sha256",
                "engine.event": "content",
                "engine.idempotencykey": "body_sha256",
                "engine.instance": "audit_hash",
                "engine.signalreceipt": "content",
                "engine.pushsubscription": "public_key auth",
                "engine.startdraft": "number",
                "engine.tasklink": "form_hash",
                "engine.pendinganswer": "form_hash",
                "engine.taskattachment": "sha256",
                "engine.template": "audit_hash",
                "engine.templateversion": "sha256",
            }
        ),
        DIGEST,
    ),
    **dict.fromkeys(
        _rows(
            {
                "auth.group": "name",
                "auth.permission": "name codename",
                "axes.accessattempt": "user_agent username http_accept path_info get_data post_data",
                "axes.accessfailurelog": "user_agent username http_accept path_info",
                "axes.accesslog": "user_agent username http_accept path_info session_hash",
                "contenttypes.contenttype": "app_label model",
                "sessions.session": "session_key session_data",
            }
        ),
        "a table of another package that has no page: the admin does not list it",
    ),
    **dict.fromkeys(
        _rows({"engine.notificationsettings": "bounced_address"}),
        "made the same as the person's address, which is written with payloads: else pages show no bounce",
    ),
    **dict.fromkeys(
        _rows({"admin.logentry": "object_id object_repr change_message"}),
        "never written: the admin's changes are in the audit instead",
    ),
}
"""Fields that stay as they are, with the reason."""

STORED: dict[str, str] = {
    "AskBody.question": "engine.taskquestion.text",
    "AskBody.user": "accounts.user.username",
    "AssignBody.user": "accounts.user.username",
    "BulkBody.comment": "engine.task.comment",
    "BulkBody.outcome": "engine.task.outcome",
    "BulkBody.user": "accounts.user.username",
    "CalendarBody.half_days": "engine.businesscalendar.content",
    "CalendarBody.holidays": "engine.businesscalendar.content",
    "CalendarBody.hours": "engine.businesscalendar.content",
    "CalendarBody.timezone": "engine.businesscalendar.content",
    "CalendarBody.title": "engine.businesscalendar.title",
    "ChosenVersionBody.name": "engine.template.name",
    "CommentBody.text": "engine.taskcomment.text",
    "CompleteBody.comment": "engine.task.comment",
    "CompleteBody.outcome": "engine.task.outcome",
    "CompleteBody.ticked": "engine.task.ticked",
    "CompleteBody.values": "engine.task.answer",
    "DelegateBody.note": "engine.taskevent.cause",
    "DelegateBody.user": "accounts.user.username",
    "ErasureBody.reason": "engine.erasure.reason",
    "EventBody.id": "engine.event.external_id",
    "EventBody.key": "engine.event.key",
    "EventBody.name": "engine.event.name",
    "EventBody.payload": "engine.event.payload",
    "FileBody.file": "engine.taskattachment.name",
    "InstanceSignalBody.name": "engine.signal.payload",
    "InstanceSignalBody.payload": "engine.signal.payload",
    "NewPersonBody.email": "accounts.user.email",
    "NewPersonBody.full_name": "accounts.user.full_name",
    "NewPersonBody.name": "accounts.user.username",
    "NewPersonBody.roles": "accounts.role.name",
    "NewRoleBody.name": "accounts.role.name",
    "NewRoleBody.title": "accounts.role.title",
    "NewTokenBody.name": "accounts.token.name",
    "NewTokenBody.person": "accounts.user.username",
    "NextBody.role": "accounts.role.name",
    "NextBody.template": "engine.template.name",
    "PersonBody.email": "accounts.user.email",
    "PersonBody.full_name": "accounts.user.full_name",
    "PersonBody.leads": "accounts.role.name",
    "PersonBody.manager": "accounts.user.username",
    "PersonBody.roles": "accounts.role.name",
    "ReasonBody.reason": "engine.journalrow.cause",
    "RetryBody.input": "engine.storedsteprun.input",
    "RetryBody.step": "engine.storedsteprun.step",
    "ReturnBody.note": "engine.taskquestion.answer",
    "RoleBody.title": "accounts.role.title",
    "ScheduleBody.template": "engine.template.name",
    "ScheduleChangeBody.calendar": "engine.schedule.calendar",
    "ScheduleChangeBody.cron": "engine.schedule.cron",
    "ScheduleChangeBody.input": "engine.schedule.input",
    "ScheduleChangeBody.timezone": "engine.schedule.time_zone",
    "ScheduleChangeBody.window": "engine.schedule.window",
    "SecretBody.origins": "engine.secret.origins",
    "SignalBody.id": "engine.event.external_id",
    "SignalBody.key": "engine.keptsignal.key",
    "SignalBody.name": "engine.keptsignal.name",
    "SignalBody.payload": "engine.keptsignal.payload",
    "SkipBody.output": "engine.storedsteprun.output",
    "SkipBody.step": "engine.storedsteprun.step",
    "SourceBody.source": "engine.templateversion.source",
    "StartBody.input": "engine.instance.input",
    "StartBody.reference": "engine.instance.reference",
    "StartBody.template": "engine.template.name",
    "SubstitutionBody.person": "accounts.user.username",
    "SubstitutionChangeBody.deputy": "accounts.user.username",
    "SubstitutionChangeBody.note": "accounts.absence.note",
    "SubstitutionChangeBody.roles": "accounts.absence.roles",
    "SubstitutionChangeBody.templates": "accounts.absence.templates",
    "TaskDraftBody.comment": "engine.taskdraft.comment",
    "TaskDraftBody.outcome": "engine.taskdraft.outcome",
    "TaskDraftBody.values": "engine.taskdraft.values",
    "TickBody.point": "engine.task.ticked",
    "WebhookChangeBody.templates": "engine.webhook.templates",
    "WebhookChangeBody.title": "engine.webhook.title",
    "WebhookChangeBody.url": "engine.webhook.url",
}
"""Where each text of a request body is kept: a row of WRITTEN, or of LEFT with its reason."""

NOT_STORED: dict[str, str] = {
    "InstanceSignalBody.id": "only an id computed from it is stored",
    "SecretBody.value": "encrypted before it is stored; no page shows it again",
    "SignalBody.ttl": "a duration; only the moment computed from it is stored",
    **dict.fromkeys(
        (f"SimulationBody.{name}" for name in (
            "answers", "as", "at", "calendars", "calls", "description", "do", "expect", "name", "people", "signals", "start",
        )),
        "a trial run: answered as JSON to the sender, never stored",
    ),
}  # fmt: skip
"""Texts of request bodies that no table keeps, with the reason."""


def text_fields() -> Iterator[models.Field[Any, Any]]:
    """List every column that holds free text: texts without choices, JSON, lists of texts, names of files."""
    for model in (each for each in apps.get_models() if each._meta.managed):
        for field in model._meta.concrete_fields:
            is_text = isinstance(field, models.CharField | models.TextField) and not field.choices
            if is_text or isinstance(field, models.JSONField | ArrayField | models.FileField):
                yield field


def named(field: models.Field[Any, Any]) -> str:
    """Return `app.model.field`."""
    return f"{field.model._meta.label_lower}.{field.name}"


def without_a_row(fields: Iterable[str]) -> set[str]:
    """Return the columns that neither table names."""
    return set(fields) - set(WRITTEN) - set(LEFT)


def seen_wrongly(codes: set[str], code_of: Callable[[str], str]) -> dict[str, str]:
    """Return the fields about which NOT_SEEN is wrong: shown by no page but not there, there but shown, or there but gone."""
    shown = {name for name in WRITTEN if code_of(name) in codes}
    missing = dict.fromkeys(
        set(WRITTEN) - shown - set(NOT_SEEN), "no page shows it: seed a row, open its page, or say why"
    )
    stale = dict.fromkeys(shown & set(NOT_SEEN), "a page shows it: take its reason away")
    gone = dict.fromkeys(set(NOT_SEEN) - set(WRITTEN), "no longer written: take its reason away")
    return missing | stale | gone


def body_texts(root: type[serializers.Serializer[Any]] = Body) -> Iterator[str]:
    """List every text of every request body, by the class that declares it first."""
    for body in root.__subclasses__():
        for name, field in body().fields.items():
            if _takes_text(field):
                declaring = [parent for parent in body.__mro__ if name in getattr(parent, "_declared_fields", ())]
                yield f"{(declaring or [body])[-1].__name__}.{name}"
        yield from body_texts(body)


def _takes_text(field: Any) -> bool:
    """Return whether a field takes free text; the fields of a body inside a list are listed as that body's own."""
    if isinstance(field, serializers.ListField):
        return _takes_text(field.child)
    closed = isinstance(field, serializers.ChoiceField | serializers.UUIDField | DurationText)
    texts = serializers.CharField | serializers.JSONField | serializers.DictField | serializers.FileField
    return isinstance(field, texts) and not closed


def bodies_without_a_row(texts: Iterable[str]) -> set[str]:
    """Return the texts of request bodies that neither table names."""
    return set(texts) - set(STORED) - set(NOT_STORED)
