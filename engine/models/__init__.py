"""Nouns: fields, constraints and querysets that speak the domain. Verbs live in engine.services."""

from engine.kernel.effects import PRIORITIES
from engine.models.accepted import Event, KeptSignal
from engine.models.audit import Audit, JournalRow
from engine.models.audit_seal import AuditPlainEnd, AuditRedaction, AuditRoot, Erasure
from engine.models.bulk_act import BulkAct, BulkRow
from engine.models.diagram import Diagram
from engine.models.effect import Effect
from engine.models.host_lock import HostLock
from engine.models.idempotency import IdempotencyKey
from engine.models.instance import Instance, RuntimeState
from engine.models.notification import (
    Notification,
    NotificationCursor,
    NotificationSettings,
    PushSubscription,
    RoleChat,
    TaskLink,
)
from engine.models.place import Place
from engine.models.reference import HeldReference
from engine.models.retention import AuditAnchor, RetentionRule, RetentionRun
from engine.models.saved_filter import SavedFilter
from engine.models.schedule import Schedule, ScheduleFire
from engine.models.setup import BusinessCalendar, Rate, Secret
from engine.models.signal import DeadLetter, Signal, SignalReceipt
from engine.models.start_draft import CaseFile, StartDraft
from engine.models.step_run import StepRun, StoredStepRun
from engine.models.task import Task, TaskCandidate, TaskEvent
from engine.models.task_work import PendingAnswer, TaskAttachment, TaskComment, TaskDraft, TaskQuestion, Turn
from engine.models.template import Template, TemplateVersion
from engine.models.wait import Wait
from engine.models.webhook import DeliveryAttempt, Webhook, WebhookDelivery

__all__ = [
    "PRIORITIES",
    "Audit",
    "AuditAnchor",
    "AuditPlainEnd",
    "AuditRedaction",
    "AuditRoot",
    "BulkAct",
    "BulkRow",
    "BusinessCalendar",
    "CaseFile",
    "DeadLetter",
    "DeliveryAttempt",
    "Diagram",
    "Effect",
    "Erasure",
    "Event",
    "HeldReference",
    "HostLock",
    "IdempotencyKey",
    "Instance",
    "JournalRow",
    "KeptSignal",
    "Notification",
    "NotificationCursor",
    "NotificationSettings",
    "PendingAnswer",
    "Place",
    "PushSubscription",
    "Rate",
    "RetentionRule",
    "RetentionRun",
    "RoleChat",
    "RuntimeState",
    "SavedFilter",
    "Schedule",
    "ScheduleFire",
    "Secret",
    "Signal",
    "SignalReceipt",
    "StartDraft",
    "StepRun",
    "StoredStepRun",
    "Task",
    "TaskAttachment",
    "TaskCandidate",
    "TaskComment",
    "TaskDraft",
    "TaskEvent",
    "TaskLink",
    "TaskQuestion",
    "Template",
    "TemplateVersion",
    "Turn",
    "Wait",
    "Webhook",
    "WebhookDelivery",
]
