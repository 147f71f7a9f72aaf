"""What a tenant sets up for its workflows: secrets, calendars; and the marks that rates leave."""

from django.db import models
from django.db.models import Value

from engine.models.base import IdRow, OrderedJSONField
from workflowplatform.database.stored_json import TextsField


class Secret(IdRow):
    """A value that calls may use and nobody can read back; encrypted at rest."""

    name = models.CharField(max_length=63)
    ciphertext = models.BinaryField()
    origins = TextsField(default=list, db_default=Value([], output_field=models.JSONField()))
    """The origins that it may be sent to; none at all: any that calls of the tenant may reach."""
    changed_by_name = models.CharField(max_length=100)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "wf_secrets"
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=("tenant", "name"), name="secret_name_once_a_tenant"),)

    def __str__(self) -> str:
        return self.name


class BusinessCalendar(IdRow):
    """When an office is open: weekly hours, holidays and half days in its zone."""

    name = models.CharField(max_length=63)
    title = models.CharField(max_length=200, blank=True)
    content = OrderedJSONField(default=dict)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "wf_calendars"
        verbose_name, verbose_name_plural = "calendar", "calendars"
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=("tenant", "name"), name="calendar_name_once_a_tenant"),)

    def __str__(self) -> str:
        return self.title or self.name


class Rate(IdRow):
    """How far ahead of time a key under a rate limit has been used."""

    key = models.CharField(max_length=300)
    free_at = models.DateTimeField()

    class Meta:
        db_table = "wf_rates"
        constraints = (models.UniqueConstraint(fields=("tenant", "key"), name="rate_key_once_a_tenant"),)

    def __str__(self) -> str:
        return self.key
