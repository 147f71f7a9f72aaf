"""Keep the record as it was designed.

Ids of signals and events are remembered per sender, with a digest of their content. The new uniqueness is wider than the old one,
so that every row that is there keeps its place.

`last_executed_on` held the node and is now `last_executed_by`; when an instance was advanced is known from its next slice on. A release
that still writes the node there cannot run beside this one: the changelog says that this upgrade needs a stop.
`purge_after` held until when an operator keeps an instance and is now `keep_until`; retention itself writes the new `purge_after`.
No column is written anew for the rows that are there.
"""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

import workflowplatform.ids


class Migration(migrations.Migration):
    dependencies = (("engine", "0027_families"),)

    operations = (
        migrations.RemoveField("runtimestate", "last_executed_by"),
        migrations.RenameField("runtimestate", "last_executed_on", "last_executed_by"),
        migrations.AddField("runtimestate", "last_executed_on", models.DateTimeField(null=True)),
        migrations.RenameField("runtimestate", "purge_after", "keep_until"),
        migrations.AddField("runtimestate", "purge_after", models.DateTimeField(null=True)),
        migrations.CreateModel(
            name="RetentionRun",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("began_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "asked_by",
                    models.CharField(blank=True, help_text="Empty: the workers did it by themselves.", max_length=100),
                ),
                ("counts", models.JSONField(default=dict, help_text="What went, by kind.")),
                ("error", models.TextField(blank=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.tenant"
                    ),
                ),
            ],
            options={
                "db_table": "wf_retention_runs",
                "ordering": ("-id",),
                "indexes": [models.Index(fields=["tenant", "-id"], name="retention_runs_by_tenant")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=Q(ended_at__isnull=True), fields=("tenant",), name="one_open_retention_run_a_tenant"
                    )
                ],
            },
        ),
        migrations.AddField("instance", "reference_parts", models.JSONField(blank=True, null=True)),
        migrations.AddField("steprun", "parent_run", models.BigIntegerField(null=True)),
        migrations.AddField("event", "content", models.CharField(max_length=64, null=True)),
        migrations.AddField("signalreceipt", "content", models.CharField(max_length=64, null=True)),
        migrations.RemoveConstraint("event", "event_accepted_once"),
        migrations.AddConstraint(
            "event",
            models.UniqueConstraint(
                fields=("tenant", "actor_name", "name", "external_id"),
                condition=Q(kind="event"),
                name="event_accepted_once",
            ),
        ),
        migrations.AddConstraint(
            "event",
            models.UniqueConstraint(
                fields=("tenant", "actor_name", "name", "key", "external_id"),
                condition=Q(kind="signal"),
                name="signal_accepted_once",
            ),
        ),
    )
