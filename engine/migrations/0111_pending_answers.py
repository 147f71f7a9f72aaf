"""Keep answers that can still be taken back, until a worker sends them."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import workflowplatform.ids
from engine.models.base import OrderedJSONField

KEYS = (("task_id", "wf_tasks"), ("person_id", "wf_people"))
CREATE = """
ALTER TABLE wf_pending_answers ADD CONSTRAINT wf_pending_answers_{column}_same_tenant
  FOREIGN KEY (tenant_id, {column}) REFERENCES {target} (tenant_id, id) ON DELETE CASCADE;
"""
DROP = "ALTER TABLE wf_pending_answers DROP CONSTRAINT wf_pending_answers_{column}_same_tenant;"


def sql(form: str) -> str:
    return "".join(form.format(column=column, target=target) for column, target in KEYS)


def key(to: str, related: str) -> models.ForeignKey:  # type: ignore[type-arg]
    return models.ForeignKey(
        db_constraint=False,
        db_index=False,
        on_delete=django.db.models.deletion.CASCADE,
        related_name=related,
        to=to,
    )


class Migration(migrations.Migration):
    dependencies = (
        ("accounts", "0090_undo"),
        ("engine", "0110_more_to_tell"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    )

    operations = (
        migrations.AddField(
            "task",
            "answer_due_at",
            models.DateTimeField(
                blank=True,
                help_text="When an answer that was given, and can still be taken back, is sent.",
                null=True,
            ),
        ),
        migrations.AddField(
            "task", "answer_by_name", models.CharField(blank=True, db_default="", default="", max_length=100)
        ),
        migrations.CreateModel(
            name="PendingAnswer",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("batch_id", models.UUIDField()),
                ("outcome", models.CharField(max_length=100)),
                ("values", OrderedJSONField(default=dict)),
                ("comment", models.TextField(blank=True)),
                ("ticked", models.JSONField(default=list)),
                ("form_hash", models.CharField(max_length=64)),
                ("given_at", models.DateTimeField()),
                ("due_at", models.DateTimeField()),
                ("failures", models.PositiveSmallIntegerField(default=0)),
                ("refused_at", models.DateTimeField(null=True)),
                ("refusal", models.CharField(blank=True, max_length=50)),
                ("refusal_text", models.TextField(blank=True)),
                ("person", key(settings.AUTH_USER_MODEL, "+")),
                ("task", key("engine.task", "pending_answers")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "wf_pending_answers",
                "ordering": ("id",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("refused_at__isnull", True)),
                        fields=["due_at"],
                        name="pending_answers_by_due",
                    ),
                    models.Index(fields=["person", "batch_id"], name="pending_answers_by_person"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("task", "person"), name="one_pending_answer_a_task_and_person")
                ],
            },
        ),
        migrations.RunSQL(sql(CREATE), sql(DROP)),
    )
