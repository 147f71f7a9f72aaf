"""Let a template's references be in use once at a time, where its author says so."""

import django.db.models.deletion
import workflowplatform.ids
from django.db import migrations, models

KEYS = (
    ("wf_held_references", "template_id", "wf_templates"),
    ("wf_held_references", "instance_id", "wf_instances"),
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
        ("engine", "0019_saved_filters"),
    ]

    operations = [
        migrations.CreateModel(
            name="HeldReference",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("reference", models.CharField(max_length=200)),
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
                "db_table": "wf_held_references",
                "constraints": [models.UniqueConstraint(fields=("template", "reference"), name="reference_held_once")],
            },
        ),
        migrations.RunSQL(sql(CREATE), sql(DROP)),
    ]
