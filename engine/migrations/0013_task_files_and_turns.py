"""Keep files of tasks, points done of a checklist, promised times, and whose turn it is."""

import django.db.models.deletion
import workflowplatform.ids
from django.db import migrations, models

KEYS = (
    ("wf_task_attachments", "task_id", "wf_tasks"),
    ("wf_task_attachments", "instance_id", "wf_instances"),
    ("wf_turns", "template_id", "wf_templates"),
)

CREATE = """
ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_same_tenant
  FOREIGN KEY (tenant_id, {column}) REFERENCES {target} (tenant_id, id);
"""
DROP = "ALTER TABLE {table} DROP CONSTRAINT {table}_{column}_same_tenant;"


def sql(form: str) -> str:
    return "".join(form.format(table=table, column=column, target=target) for table, column, target in KEYS)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_session_epoch"),
        ("engine", "0012_diagrams"),
    ]

    operations = [
        migrations.AddField(
            model_name="task",
            name="ticked",
            field=models.JSONField(
                db_default=models.Value([], output_field=models.JSONField()),
                default=list,
                help_text="Points of the checklist done.",
            ),
        ),
        migrations.AddField(
            model_name="task",
            name="sla_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.CreateModel(
            name="TaskAttachment",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("content_type", models.CharField(max_length=100)),
                ("size", models.PositiveBigIntegerField()),
                ("sha256", models.CharField(max_length=64)),
                ("added_by_id", models.UUIDField(null=True)),
                ("added_by_name", models.CharField(max_length=100)),
                ("added_at", models.DateTimeField()),
                (
                    "instance",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="engine.instance",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="attachments",
                        to="engine.task",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.tenant"
                    ),
                ),
            ],
            options={
                "db_table": "wf_task_attachments",
                "ordering": ("id",),
                "indexes": [models.Index(fields=["task", "id"], name="task_attachments_by_task")],
            },
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("step", models.CharField(max_length=100)),
                ("person_name", models.CharField(blank=True, max_length=100)),
                (
                    "template",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="engine.template",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.tenant"
                    ),
                ),
            ],
            options={
                "db_table": "wf_turns",
                "constraints": [models.UniqueConstraint(fields=("template", "step"), name="one_turn_a_step")],
            },
        ),
        migrations.RunSQL(sql(CREATE), sql(DROP)),
    ]
