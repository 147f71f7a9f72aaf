"""What people are told: each message before it is sent, what each person wants to hear, and where they can be reached."""

from datetime import time
from typing import Any

from django.db import models
from django.db.models import Q

from engine.models.base import IdRow
from engine.models.instance import Instance
from engine.models.task import Task
from workflowplatform.accounts.models import Role, User
from workflowplatform.database.stored_json import TextsField

KINDS = (
    "assigned", "offered", "mentioned", "asked", "answered", "due_soon", "late", "decided", "handed_over", "not_sent",
)  # fmt: skip
CHATS = ("slack", "teams")
CHANNELS = ("mail", "push", *CHATS)
WAYS = ("once", "later", "quiet", "daily")
"""At once; held back since many of a kind came; held back by quiet hours; in the daily digest."""
NOTIFICATION_STATUSES = ("pending", "sent", "dropped", "failed")


def _choices(words: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(word, word) for word in words]


def _person(**more: Any) -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False, **more
    )


class NotificationCursor(IdRow):
    """How far a tenant's audit and its due dates were looked at for something to tell."""

    after_xid = models.BigIntegerField(default=0)
    after_id = models.BigIntegerField(default=0)
    due_until = models.DateTimeField(null=True)
    """Due dates up to this moment were looked at."""

    class Meta:
        db_table = "wf_notification_cursors"
        constraints = (models.UniqueConstraint(fields=("tenant",), name="one_notification_cursor_a_tenant"),)

    def __str__(self) -> str:
        return f"{self.after_xid}-{self.after_id}"


class Notification(IdRow):
    """One thing that one person, or the chat of one role, is told over one channel. Never sent twice by design of its key."""

    person = _person(null=True)
    role = models.ForeignKey(
        Role, null=True, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    kind = models.CharField(max_length=12, choices=_choices(KINDS))
    channel = models.CharField(max_length=5, choices=_choices(CHANNELS))
    way = models.CharField(max_length=5, choices=_choices(WAYS), default="once")
    key = models.CharField(max_length=200)
    """What it tells, so that the same is told once."""
    task = models.ForeignKey(
        Task, null=True, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    instance = models.ForeignKey(
        Instance, null=True, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    actor_name = models.CharField(max_length=100, blank=True)
    text = models.TextField(blank=True)
    """What was said: a comment, a question."""
    status = models.CharField(max_length=7, choices=_choices(NOTIFICATION_STATUSES), default="pending")
    due_at = models.DateTimeField()
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    message_id = models.UUIDField(null=True)
    """The message that told it; several may share one."""
    tries = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)

    class Meta:
        db_table = "wf_notifications"
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("channel", "due_at"), condition=Q(status="pending"), name="notifications_by_due"),
            models.Index(fields=("person", "channel", "-sent_at"), name="notifications_by_person"),
            models.Index(fields=("task",), condition=Q(task__isnull=False), name="notifications_by_task"),
            models.Index(fields=("instance",), condition=Q(instance__isnull=False), name="notifications_by_instance"),
            models.Index(fields=("sent_at",), condition=~Q(status="pending"), name="notifications_by_end"),
        )
        constraints = (
            models.UniqueConstraint(fields=("tenant", "id"), name="notification_in_tenant"),
            models.UniqueConstraint(
                fields=("key", "channel", "person", "role"), nulls_distinct=False, name="told_once"
            ),
            models.CheckConstraint(condition=Q(kind__in=KINDS), name="notification_kind_known"),
            models.CheckConstraint(condition=Q(channel__in=CHANNELS), name="notification_channel_known"),
            models.CheckConstraint(condition=Q(status__in=NOTIFICATION_STATUSES), name="notification_status_known"),
            models.CheckConstraint(
                condition=Q(person__isnull=False, role__isnull=True) | Q(person__isnull=True, role__isnull=False),
                name="notification_has_one_receiver",
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind.replace('_', ' ').capitalize()} for {self.person or self.role}"


class NotificationSettings(IdRow):
    """What a person wants to be told, and when. A person without a row has the defaults."""

    person = _person()
    mail = models.JSONField(default=dict)
    """For each kind `off`, `once` or `daily`; one that is absent has its default."""
    push = TextsField(null=True)
    """The kinds that are pushed; None: the default ones."""
    quiet = models.BooleanField(default=False)
    quiet_from = models.TimeField(default=time(18, 30))
    quiet_until = models.TimeField(default=time(7, 30))
    quiet_weekend = models.BooleanField(default=False)
    digest_at = models.TimeField(default=time(8, 0))
    bounced_at = models.DateTimeField(null=True)
    bounced_address = models.CharField(max_length=254, blank=True)
    bounce = models.TextField(blank=True)
    """What the mail server said when it gave a message back."""

    class Meta:
        db_table = "wf_notification_settings"
        constraints = (models.UniqueConstraint(fields=("person",), name="notification_settings_once_a_person"),)

    def __str__(self) -> str:
        return f"settings of {self.person}"


class PushSubscription(IdRow):
    """A browser that takes push messages for a person."""

    person = _person()
    endpoint = models.CharField(max_length=2000)
    public_key = models.CharField(max_length=200)
    auth = models.CharField(max_length=100)
    browser = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "wf_push_subscriptions"
        ordering = ("id",)
        constraints = (models.UniqueConstraint(fields=("person", "endpoint"), name="push_once_a_browser"),)

    def __str__(self) -> str:
        return self.browser or "a browser"


class RoleChat(IdRow):
    """The incoming webhook of Slack or Teams by which a role is told of its tasks."""

    role = models.ForeignKey(Role, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    chat = models.CharField(max_length=5, choices=_choices(CHATS))
    address = models.BinaryField()
    """Encrypted: anyone who knows it can write there."""
    language = models.CharField(max_length=10, blank=True, default="", db_default="")
    """In which the chat is written; empty: the platform's."""
    failed_at = models.DateTimeField(null=True)
    failure = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "wf_role_chats"
        verbose_name, verbose_name_plural = "chat", "chats"
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=("role", "chat"), name="one_chat_of_a_kind_a_role"),
            models.CheckConstraint(condition=Q(chat__in=CHATS), name="role_chat_known"),
        )

    def __str__(self) -> str:
        return f"{self.chat.capitalize()} of {self.role}"


class TaskLink(IdRow):
    """A link that lets one person answer one task once, without a sign-in. Its address is signed, not kept."""

    person = _person()
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    form_hash = models.CharField(max_length=64)
    """What was asked when the link was sent."""
    created_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "wf_task_links"
        constraints = (models.UniqueConstraint(fields=("task", "person"), name="one_link_a_task_and_person"),)

    def __str__(self) -> str:
        return f"link for {self.person}"
