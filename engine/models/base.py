"""What every table shares: an id that sorts by time, and its tenant."""

from django.db import models

from workflowplatform.accounts.models import Tenant
from workflowplatform.ids import uuid7


class TenantRow(models.Model):
    """A row of one tenant. Reads go through engine.access, which keeps tenants apart."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")

    class Meta:
        abstract = True


class IdRow(TenantRow):
    """A tenant's row with a UUIDv7 of its own."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)

    class Meta:
        abstract = True
