"""Signals: the queue of record, its receipts, and its dead letters."""

import re

from django.db import models

from engine.kernel.signals import SignalType
from engine.models.base import PartIdRow
from engine.models.instance import Instance


class Signal(PartIdRow):
    """A durable message to an instance: written in the transaction that causes it, deleted in the one that applies it."""

    instance = models.ForeignKey(
        Instance, on_delete=models.CASCADE, related_name="signals", db_constraint=False, db_index=False
    )
    runtime_provider = models.CharField(max_length=20, default="kernel")
    type = models.CharField(max_length=20, choices=[(kind.value, kind.value) for kind in SignalType])
    expected_version = models.BigIntegerField(null=True)
    waiting_token = models.BigIntegerField(null=True)
    occurred_at = models.DateTimeField()
    due_at = models.DateTimeField()
    held_due_at = models.DateTimeField(null=True)
    payload = models.JSONField(default=dict)
    attempts = models.PositiveSmallIntegerField(default=0)

    class Meta:
        db_table = "wf_signals"
        indexes = (
            models.Index(fields=("due_at",), name="signals_by_due"),
            models.Index(fields=("tenant", "due_at", "instance"), name="signals_by_tenant"),
            models.Index(fields=("instance", "due_at", "id"), name="signals_by_instance"),
        )

    def __str__(self) -> str:
        return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.type).capitalize()


class SignalReceipt(PartIdRow):
    """That a signal was applied, or was stale; the id is the signal's."""

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="receipts", db_constraint=False)
    type = models.CharField(max_length=20)
    waiting_token = models.BigIntegerField(null=True)
    disposition = models.CharField(
        max_length=10, choices=[(word, word) for word in ("applied", "kept", "stale", "discarded")]
    )
    content = models.CharField(max_length=64, null=True)  # noqa: DJ001  a digest, where the sender gave an id
    at = models.DateTimeField()

    class Meta:
        db_table = "wf_signal_receipts"

    def __str__(self) -> str:
        return f"{self.type} {self.disposition}"


class DeadLetter(PartIdRow):
    """A signal that could not be applied: its envelope, why, where and when."""

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="dead_letters", db_constraint=False)
    envelope = models.JSONField()
    reason = models.TextField()
    node = models.CharField(max_length=200)
    at = models.DateTimeField()

    class Meta:
        db_table = "wf_dead_letters"
        indexes = (models.Index(fields=("tenant", "-id"), name="dead_letters_by_tenant"),)

    def __str__(self) -> str:
        return self.reason
