"""Drop the keys to the tenant where the key to the parent carries it: 38 of the lookups of one approval.

A row whose parent is of another tenant is refused by the composite key, and so is one whose tenant does not exist, since no
parent has it.
"""

from django.db import migrations, models

PARTS = (
    "bulkrow", "deadletter", "deliveryattempt", "diagram", "effect", "heldreference", "instance", "place", "runtimestate",
    "schedule", "schedulefire", "signal", "signalreceipt", "task", "taskattachment", "taskcandidate", "taskcomment",
    "taskdraft", "taskevent", "templateversion", "turn", "wait", "webhookdelivery",
)  # fmt: skip
"""Models whose rows have a parent that is never empty."""


def without_key(model: str) -> migrations.AlterField:
    tenant = models.ForeignKey(
        on_delete=models.PROTECT, related_name="+", to="accounts.tenant", db_index=False, db_constraint=False
    )
    return migrations.AlterField(model, "tenant", tenant)


class Migration(migrations.Migration):
    dependencies = (("accounts", "0007_tenant_by_the_parent"), ("engine", "0055_answered_by"))

    operations = tuple(map(without_key, PARTS))
