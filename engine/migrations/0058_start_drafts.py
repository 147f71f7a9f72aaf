"""Keep start forms that people have begun, and the files that come with a request."""

import django.db.models.deletion
from django.db import migrations, models

import workflowplatform.ids
from engine.models.base import OrderedJSONField

KEYS = (
    ("wf_start_drafts", "template_id", "wf_templates", ""),
    ("wf_case_files", "draft_id", "wf_start_drafts", " ON DELETE CASCADE"),
    ("wf_case_files", "instance_id", "wf_instances", ""),
)
CREATE = """
ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_same_tenant
  FOREIGN KEY (tenant_id, {column}) REFERENCES {target} (tenant_id, id){then};
"""
DROP = "ALTER TABLE {table} DROP CONSTRAINT {table}_{column}_same_tenant;"
TARGET = "ALTER TABLE wf_start_drafts ADD CONSTRAINT wf_start_drafts_tenant_id UNIQUE (tenant_id, id);"


def sql(form: str) -> str:
    return "".join(form.format(table=table, column=column, target=to, then=then) for table, column, to, then in KEYS)


def own_id() -> tuple[str, models.UUIDField]:  # type: ignore[type-arg]
    return (
        "id",
        models.UUIDField(default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False),
    )


def tenant() -> tuple[str, models.ForeignKey]:  # type: ignore[type-arg]
    return (
        "tenant",
        models.ForeignKey(
            db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.tenant"
        ),
    )


def key(to: str, related: str = "+", *, null: bool = False) -> models.ForeignKey:  # type: ignore[type-arg]
    return models.ForeignKey(
        db_constraint=False,
        db_index=False,
        null=null,
        on_delete=django.db.models.deletion.CASCADE,
        related_name=related,
        to=to,
    )


class Migration(migrations.Migration):
    dependencies = (("engine", "0070_tasks_done_for_another"),)

    operations = (
        migrations.CreateModel(
            name="StartDraft",
            fields=[
                own_id(),
                ("owner_id", models.UUIDField()),
                ("number", models.CharField(max_length=64)),
                ("values", OrderedJSONField(default=dict)),
                ("saved_at", models.DateTimeField()),
                ("template", key("engine.template")),
                tenant(),
            ],
            options={
                "db_table": "wf_start_drafts",
                "ordering": ("-saved_at", "-id"),
                "indexes": [models.Index(fields=["template"], name="start_drafts_by_template")],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "owner_id", "number"), name="one_draft_a_start_form")
                ],
            },
        ),
        migrations.CreateModel(
            name="CaseFile",
            fields=[
                own_id(),
                ("name", models.CharField(max_length=200)),
                ("content_type", models.CharField(max_length=100)),
                ("size", models.PositiveBigIntegerField()),
                ("sha256", models.CharField(max_length=64)),
                ("added_by_id", models.UUIDField(null=True)),
                ("added_by_name", models.CharField(max_length=100)),
                ("added_at", models.DateTimeField()),
                ("draft", key("engine.startdraft", "files", null=True)),
                ("instance", key("engine.instance", null=True)),
                tenant(),
            ],
            options={
                "db_table": "wf_case_files",
                "ordering": ("id",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("draft__isnull", False)),
                        fields=["draft", "id"],
                        name="case_files_by_draft",
                    ),
                    models.Index(
                        condition=models.Q(("instance__isnull", False)),
                        fields=["instance", "id"],
                        name="case_files_by_instance",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("draft__isnull", True)) ^ models.Q(("instance__isnull", True)),
                        name="file_of_a_draft_or_an_instance",
                    )
                ],
            },
        ),
        migrations.RunSQL(TARGET + sql(CREATE), sql(DROP)),
    )
