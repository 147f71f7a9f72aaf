"""Let tasks be delegated and returned, and wait for the answer to a question."""

import django.db.models.deletion
import workflowplatform.ids
from django.db import migrations, models

TENANTS = """
ALTER TABLE wf_task_questions ADD CONSTRAINT question_task_in_tenant
  FOREIGN KEY (tenant_id, task_id) REFERENCES wf_tasks (tenant_id, id) ON DELETE CASCADE;
ALTER TABLE wf_task_questions ADD CONSTRAINT question_instance_in_tenant
  FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances (tenant_id, id) ON DELETE CASCADE;
"""


class Migration(migrations.Migration):
    dependencies = (("accounts", "0010_absences_and_managers"), ("engine", "0040_journal"))

    operations = (
        migrations.AddField(
            model_name="task",
            name="delegated_by_id",
            field=models.UUIDField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="task",
            name="delegated_by_name",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="The person who has the final word.", max_length=100
            ),
        ),
        migrations.AddField(
            model_name="task",
            name="prepared_by",
            field=models.JSONField(
                db_default=models.Value([], output_field=models.JSONField()),
                default=list,
                help_text="People who filled it in for another's final word; they took part in it.",
            ),
        ),
        migrations.AddField(
            model_name="task",
            name="waiting_for_name",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The person who was asked for information.",
                max_length=100,
            ),
        ),
        migrations.AddField(
            model_name="task",
            name="waiting_since",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.CreateModel(
            name="TaskQuestion",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("text", models.TextField()),
                ("asked_by_id", models.UUIDField(null=True)),
                ("asked_by_name", models.CharField(max_length=100)),
                ("asked_of_id", models.UUIDField()),
                ("asked_of_name", models.CharField(max_length=100)),
                ("asked_at", models.DateTimeField()),
                ("opened_at", models.DateTimeField(blank=True, null=True)),
                ("answer", models.TextField(blank=True)),
                ("answered_by_name", models.CharField(blank=True, max_length=100)),
                (
                    "ended_at",
                    models.DateTimeField(blank=True, help_text="When it was answered or withdrawn.", null=True),
                ),
                (
                    "instance",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="engine.instance",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="questions",
                        to="engine.task",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "wf_task_questions",
                "ordering": ("id",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=["asked_of_id", "id"],
                        name="open_questions_by_person",
                    ),
                    models.Index(fields=["instance"], name="questions_by_instance"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=("task",),
                        name="one_open_question_a_task",
                    )
                ],
            },
        ),
        migrations.RunSQL(TENANTS, migrations.RunSQL.noop),
    )
