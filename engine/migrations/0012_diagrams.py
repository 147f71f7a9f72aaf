"""Keep the geometry of each version's diagram."""

import django.db.models.deletion
from django.db import migrations, models

import engine.models.base

CREATE = """
ALTER TABLE wf_diagrams ADD CONSTRAINT wf_diagrams_version_id_same_tenant
  FOREIGN KEY (tenant_id, version_id) REFERENCES wf_template_versions (tenant_id, id) ON DELETE CASCADE;
"""
DROP = "ALTER TABLE wf_diagrams DROP CONSTRAINT wf_diagrams_version_id_same_tenant;"


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_session_epoch"),
        ("engine", "0011_task_work"),
    ]

    operations = [
        migrations.CreateModel(
            name="Diagram",
            fields=[
                (
                    "version",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="diagram",
                        serialize=False,
                        to="engine.templateversion",
                    ),
                ),
                ("sha256", models.CharField(max_length=64)),
                ("made_with", models.CharField(max_length=60)),
                ("geometry", engine.models.base.OrderedJSONField(null=True)),
                ("made_at", models.DateTimeField(auto_now=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.tenant"
                    ),
                ),
            ],
            options={"db_table": "wf_diagrams"},
        ),
        migrations.RunSQL(CREATE, DROP),
    ]
