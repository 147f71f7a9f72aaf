"""Keep who runs under a throttle, and who waits in line."""

import django.db.models.deletion
from django.db import migrations, models

CREATE = """
ALTER TABLE wf_places ADD CONSTRAINT wf_places_instance_id_same_tenant
  FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances (tenant_id, id) ON DELETE CASCADE;
"""
DROP = "ALTER TABLE wf_places DROP CONSTRAINT wf_places_instance_id_same_tenant;"


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_session_epoch"), ("engine", "0025_limits_by_index")]

    operations = [
        migrations.CreateModel(
            name="Place",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "instance_id", "run", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("run", models.BigIntegerField()),
                ("key", models.CharField(max_length=300)),
                ("most", models.PositiveIntegerField()),
                ("asked_at", models.DateTimeField()),
                ("let_in_at", models.DateTimeField(null=True)),
                (
                    "instance",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="places",
                        to="engine.instance",
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
                "db_table": "wf_places",
                "indexes": [
                    models.Index(
                        condition=models.Q(("let_in_at__isnull", True)),
                        fields=["tenant", "key", "asked_at", "instance", "run"],
                        name="places_in_line",
                    ),
                    models.Index(
                        condition=models.Q(("let_in_at__isnull", False)), fields=["tenant", "key"], name="places_taken"
                    ),
                ],
            },
        ),
        migrations.RunSQL(CREATE, DROP),
    ]
