"""Keep webhooks, what they are to be told, and what came of each try."""

import django.db.models.deletion
import workflowplatform.ids
from django.db import migrations, models

KEYS = (
    ("wf_webhook_deliveries", "webhook_id", "wf_webhooks"),
    ("wf_delivery_attempts", "delivery_id", "wf_webhook_deliveries"),
)

CREATE = """
ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_same_tenant
  FOREIGN KEY (tenant_id, {column}) REFERENCES {target} (tenant_id, id) ON DELETE CASCADE;
"""
DROP = "ALTER TABLE {table} DROP CONSTRAINT {table}_{column}_same_tenant;"


def sql(form: str) -> str:
    return "".join(form.format(table=table, column=column, target=target) for table, column, target in KEYS)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_session_epoch"),
        ("engine", "0016_instances_by_day"),
    ]

    operations = [
        migrations.CreateModel(
            name="Webhook",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("title", models.CharField(blank=True, max_length=200)),
                ("url", models.CharField(max_length=2000)),
                ("events", models.JSONField(default=list)),
                ("templates", models.JSONField(blank=True, default=list)),
                (
                    "status",
                    models.CharField(
                        choices=[("active", "active"), ("paused", "paused"), ("disabled", "disabled")],
                        default="active",
                        max_length=8,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("owner_id", models.UUIDField(null=True)),
                ("owner_name", models.CharField(max_length=100)),
                ("secret", models.BinaryField()),
                ("old_secret", models.BinaryField(null=True)),
                ("old_secret_until", models.DateTimeField(null=True)),
                ("after_xid", models.BigIntegerField()),
                ("after_id", models.BigIntegerField()),
                ("failures", models.PositiveIntegerField(default=0)),
                ("failing_since", models.DateTimeField(null=True)),
                ("delivered_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("changed_at", models.DateTimeField(auto_now=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.tenant"
                    ),
                ),
            ],
            options={
                "db_table": "wf_webhooks",
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="WebhookDelivery",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("event", models.CharField(max_length=40)),
                ("audit_id", models.BigIntegerField(null=True)),
                ("instance_id", models.UUIDField(null=True)),
                ("body", models.TextField()),
                (
                    "status",
                    models.CharField(
                        choices=[("pending", "pending"), ("delivered", "delivered"), ("failed", "failed")],
                        default="pending",
                        max_length=9,
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("due_at", models.DateTimeField()),
                ("created_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.tenant"
                    ),
                ),
                (
                    "webhook",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="engine.webhook",
                    ),
                ),
            ],
            options={
                "db_table": "wf_webhook_deliveries",
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="DeliveryAttempt",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("began_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("error", models.TextField(blank=True)),
                ("answer", models.TextField(blank=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.tenant"
                    ),
                ),
                (
                    "delivery",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="log",
                        to="engine.webhookdelivery",
                    ),
                ),
            ],
            options={
                "db_table": "wf_delivery_attempts",
                "ordering": ("number",),
            },
        ),
        migrations.AddConstraint(
            model_name="webhook",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="webhook_in_tenant"),
        ),
        migrations.AddConstraint(
            model_name="webhook",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ("active", "paused", "disabled"))), name="webhook_status_known"
            ),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(condition=models.Q(("status", "pending")), fields=["due_at"], name="deliveries_by_due"),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(fields=["tenant", "-id"], name="deliveries_by_tenant"),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(fields=["webhook", "status", "-id"], name="deliveries_by_webhook"),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(
                condition=models.Q(("instance_id__isnull", False)),
                fields=["instance_id"],
                name="deliveries_by_instance",
            ),
        ),
        migrations.AddConstraint(
            model_name="webhookdelivery",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="delivery_in_tenant"),
        ),
        migrations.AddConstraint(
            model_name="webhookdelivery",
            constraint=models.UniqueConstraint(fields=("webhook", "audit_id"), name="act_told_once_a_webhook"),
        ),
        migrations.AddConstraint(
            model_name="webhookdelivery",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ("pending", "delivered", "failed"))), name="delivery_status_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="deliveryattempt",
            constraint=models.UniqueConstraint(fields=("delivery", "number"), name="attempt_once_a_delivery"),
        ),
        migrations.RunSQL(sql(CREATE), sql(DROP)),
    ]
