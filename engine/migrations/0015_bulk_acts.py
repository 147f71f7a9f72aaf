"""Keep acts over many rows, and what became of each row: written once, with the act itself."""

import django.db.models.deletion
import workflowplatform.ids
from django.db import migrations, models


CREATE = """
ALTER TABLE wf_bulk_rows ADD CONSTRAINT wf_bulk_rows_bulk_act_id_same_tenant
  FOREIGN KEY (tenant_id, bulk_act_id) REFERENCES wf_bulk_acts (tenant_id, id) ON DELETE CASCADE;
CREATE FUNCTION wf_check_bulk_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'row % of the act % is settled already', OLD.place, OLD.bulk_act_id
    USING ERRCODE = 'check_violation', CONSTRAINT = 'bulk_row_settled_once';
END $$;
CREATE TRIGGER bulk_row_settled_once BEFORE UPDATE ON wf_bulk_rows
  FOR EACH ROW WHEN (OLD.status <> 'waiting') EXECUTE FUNCTION wf_check_bulk_row();
"""
DROP = """
DROP TRIGGER bulk_row_settled_once ON wf_bulk_rows;
DROP FUNCTION wf_check_bulk_row;
ALTER TABLE wf_bulk_rows DROP CONSTRAINT wf_bulk_rows_bulk_act_id_same_tenant;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_session_epoch"),
        ("engine", "0014_answerers"),
    ]

    operations = [
        migrations.CreateModel(
            name="BulkAct",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("action", models.CharField(max_length=20)),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("arguments", models.JSONField(blank=True, default=dict)),
                ("total", models.PositiveIntegerField()),
                ("started_by_id", models.UUIDField()),
                ("started_by_name", models.CharField(max_length=100)),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("stopped_by_name", models.CharField(blank=True, max_length=100)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.tenant"
                    ),
                ),
            ],
            options={
                "db_table": "wf_bulk_acts",
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="BulkRow",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("place", models.PositiveIntegerField()),
                ("subject_id", models.UUIDField()),
                ("subject_name", models.CharField(max_length=300)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting"),
                            ("done", "done"),
                            ("refused", "refused"),
                            ("stopped", "stopped"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("message", models.TextField(blank=True)),
                ("at", models.DateTimeField(blank=True, null=True)),
                (
                    "bulk_act",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rows",
                        to="engine.bulkact",
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
                "db_table": "wf_bulk_rows",
                "ordering": ("place",),
            },
        ),
        migrations.AddIndex(
            model_name="bulkact",
            index=models.Index(fields=["tenant", "-id"], name="bulk_acts_by_tenant"),
        ),
        migrations.AddIndex(
            model_name="bulkact",
            index=models.Index(condition=models.Q(("ended_at__isnull", True)), fields=["id"], name="bulk_acts_open"),
        ),
        migrations.AddConstraint(
            model_name="bulkact",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="bulk_act_in_tenant"),
        ),
        migrations.AddIndex(
            model_name="bulkrow",
            index=models.Index(
                condition=models.Q(("status", "waiting")), fields=["bulk_act", "place"], name="bulk_rows_waiting"
            ),
        ),
        migrations.AddConstraint(
            model_name="bulkrow",
            constraint=models.UniqueConstraint(fields=("bulk_act", "place"), name="bulk_row_place_once"),
        ),
        migrations.AddConstraint(
            model_name="bulkrow",
            constraint=models.UniqueConstraint(fields=("bulk_act", "subject_id"), name="bulk_row_subject_once"),
        ),
        migrations.AddConstraint(
            model_name="bulkrow",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ("waiting", "done", "refused", "stopped"))),
                name="bulk_row_status_known",
            ),
        ),
        migrations.RunSQL(CREATE, DROP),
    ]
