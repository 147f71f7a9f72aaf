"""Keep drafts and comments of tasks, who alone may act on one, and who has answered where several do."""

import django.db.models.deletion
import engine.models.base
import workflowplatform.ids
from django.db import migrations, models

KEYS = (
    ("wf_task_drafts", "task_id", "wf_tasks"),
    ("wf_task_comments", "task_id", "wf_tasks"),
    ("wf_task_comments", "instance_id", "wf_instances"),
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
        ("engine", "0010_host_locks_and_availability"),
    ]

    operations = [
        migrations.AddField(
            model_name="task",
            name="answered_by",
            field=models.JSONField(
                db_default=models.Value([], output_field=models.JSONField()),
                default=list,
                help_text="Who has answered, where several people do.",
            ),
        ),
        migrations.AddField(
            model_name="task",
            name="familiar",
            field=models.JSONField(
                db_default=models.Value([], output_field=models.JSONField()),
                default=list,
                help_text="Only these may act, where anybody is named.",
            ),
        ),
        migrations.CreateModel(
            name="TaskComment",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("text", models.TextField()),
                ("author_id", models.UUIDField(null=True)),
                ("author_name", models.CharField(max_length=100)),
                ("at", models.DateTimeField()),
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
                        related_name="comments",
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
                "db_table": "wf_task_comments",
                "ordering": ("id",),
                "indexes": [models.Index(fields=["task", "id"], name="task_comments_by_task")],
            },
        ),
        migrations.CreateModel(
            name="TaskDraft",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("owner_id", models.UUIDField(blank=True, null=True)),
                ("values", engine.models.base.OrderedJSONField(default=dict)),
                ("outcome", models.CharField(blank=True, max_length=100)),
                ("comment", models.TextField(blank=True)),
                ("saved_by_name", models.CharField(max_length=100)),
                ("saved_at", models.DateTimeField()),
                (
                    "task",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="drafts",
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
                "db_table": "wf_task_drafts",
                "constraints": [
                    models.UniqueConstraint(fields=("task", "owner_id"), name="one_draft_a_task", nulls_distinct=False)
                ],
            },
        ),
        migrations.RunSQL(sql(CREATE), sql(DROP)),
    ]
