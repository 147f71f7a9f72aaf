"""Drop the indexes that Django made for foreign keys and that no query needs (docs/database.md).

Where a table is read by such a column, another index begins with it.
"""

from typing import Any

from django.db import migrations, models

from workflowplatform.database.index_operations import DropForeignKeyIndex

OF_A_TENANT = (
    "audit",
    "auditanchor",
    "auditplainend",
    "auditredaction",
    "bulkact",
    "bulkrow",
    "businesscalendar",
    "deadletter",
    "deliveryattempt",
    "diagram",
    "effect",
    "erasure",
    "event",
    "heldreference",
    "idempotencykey",
    "instance",
    "keptsignal",
    "place",
    "rate",
    "retentionrule",
    "retentionrun",
    "runtimestate",
    "savedfilter",
    "schedule",
    "schedulefire",
    "secret",
    "signal",
    "signalreceipt",
    "steprun",
    "task",
    "taskattachment",
    "taskcandidate",
    "taskcomment",
    "taskdraft",
    "taskevent",
    "template",
    "templateversion",
    "turn",
    "wait",
    "webhook",
    "webhookdelivery",
)
OF_ANOTHER_ROW = (
    ("bulkrow", "bulk_act", "engine.bulkact", models.CASCADE, "rows"),
    ("deliveryattempt", "delivery", "engine.webhookdelivery", models.CASCADE, "log"),
    ("heldreference", "template", "engine.template", models.CASCADE, "+"),
    ("instance", "template", "engine.template", models.PROTECT, "instances"),
    ("schedulefire", "schedule", "engine.schedule", models.CASCADE, "fires"),
    ("signal", "instance", "engine.instance", models.CASCADE, "signals"),
    ("steprun", "instance", "engine.instance", models.CASCADE, "step_runs"),
    ("task", "instance", "engine.instance", models.CASCADE, "tasks"),
    ("taskattachment", "task", "engine.task", models.CASCADE, "attachments"),
    ("taskcandidate", "task", "engine.task", models.CASCADE, "candidates"),
    ("taskcomment", "task", "engine.task", models.CASCADE, "comments"),
    ("taskdraft", "task", "engine.task", models.CASCADE, "drafts"),
    ("taskevent", "task", "engine.task", models.CASCADE, "events"),
    ("templateversion", "template", "engine.template", models.PROTECT, "versions"),
    ("turn", "template", "engine.template", models.CASCADE, "+"),
    ("webhookdelivery", "webhook", "engine.webhook", models.CASCADE, "deliveries"),
)
"""The model, the foreign key, what it refers to, what happens when that is deleted, and the name of the way back."""


def tenant() -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(on_delete=models.PROTECT, related_name="+", to="accounts.tenant", db_index=False)


def other(to: str, on_delete: Any, related_name: str, **more: Any) -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(
        on_delete=on_delete, related_name=related_name, to=to, db_constraint=False, db_index=False, **more
    )


class Migration(migrations.Migration):
    dependencies = (("accounts", "0006_drop_unused_indexes"), ("engine", "0033_erasures"))

    operations = (
        migrations.RemoveIndex(model_name="bulkact", name="bulk_acts_by_tenant"),
        migrations.RemoveIndex(model_name="webhookdelivery", name="deliveries_by_tenant"),
        migrations.AddIndex(
            model_name="deadletter", index=models.Index(fields=["tenant", "-id"], name="dead_letters_by_tenant")
        ),
        *(DropForeignKeyIndex(model, "tenant", tenant()) for model in OF_A_TENANT),
        *(DropForeignKeyIndex(model, name, other(to, gone, back)) for model, name, to, gone, back in OF_ANOTHER_ROW),
        DropForeignKeyIndex(
            "instance", "parent", other("engine.instance", models.PROTECT, "children", null=True, blank=True)
        ),
    )
