"""Share saved filters with a role, let people choose their columns and their first list, keep what bulk actions did."""

import django.db.models.deletion
from django.db import migrations, models

import workflowplatform.ids

KEYS = """
ALTER TABLE wf_saved_filters ADD CONSTRAINT wf_saved_filters_role_id_same_tenant
  FOREIGN KEY (tenant_id, role_id) REFERENCES wf_roles (tenant_id, id) ON DELETE SET NULL (role_id);
ALTER TABLE wf_list_settings ADD CONSTRAINT wf_list_settings_start_filter_id_same_tenant
  FOREIGN KEY (tenant_id, start_filter_id) REFERENCES wf_saved_filters (tenant_id, id) ON DELETE SET NULL (start_filter_id);
"""
NO_KEYS = """
ALTER TABLE wf_list_settings DROP CONSTRAINT wf_list_settings_start_filter_id_same_tenant;
ALTER TABLE wf_saved_filters DROP CONSTRAINT wf_saved_filters_role_id_same_tenant;
"""


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


class Migration(migrations.Migration):
    dependencies = (("accounts", "0010_absences_and_managers"), ("engine", "0113_told_of_refusals_checked"))

    operations = (
        migrations.AddField(
            "savedfilter",
            "role",
            models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="accounts.role",
            ),
        ),
        migrations.AddField(
            "savedfilter",
            "editable",
            models.BooleanField(db_default=False, default=False, help_text="Everyone who sees it may change it."),
        ),
        migrations.AddIndex(
            "savedfilter",
            models.Index(condition=models.Q(("role__isnull", False)), fields=["role"], name="saved_filters_by_role"),
        ),
        migrations.AddConstraint(
            "savedfilter", models.UniqueConstraint(fields=("tenant", "id"), name="saved_filter_in_tenant")
        ),
        migrations.AddConstraint(
            "savedfilter",
            models.CheckConstraint(
                condition=models.Q(models.Q(("shared", True), _negated=True), ("role__isnull", True), _connector="OR"),
                name="filter_shared_with_a_role_or_everyone",
            ),
        ),
        migrations.CreateModel(
            name="ListSettings",
            fields=[
                own_id(),
                ("person_id", models.UUIDField()),
                ("start_view", models.CharField(blank=True, default="", max_length=10)),
                ("columns", models.JSONField(default=dict)),
                (
                    "start_filter",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="engine.savedfilter",
                    ),
                ),
                tenant(),
            ],
            options={
                "db_table": "wf_list_settings",
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "person_id"), name="list_settings_once_a_person")
                ],
            },
        ),
        migrations.CreateModel(
            name="BulkReport",
            fields=[
                own_id(),
                ("person_id", models.UUIDField()),
                ("action", models.CharField(max_length=10)),
                ("query", models.TextField(blank=True)),
                ("results", models.JSONField()),
                ("done", models.PositiveIntegerField()),
                ("left", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField()),
                tenant(),
            ],
            options={
                "db_table": "wf_bulk_reports",
                "ordering": ("-id",),
                "indexes": [
                    models.Index(fields=["person_id", "-id"], name="bulk_reports_by_person"),
                    models.Index(fields=["created_at"], name="bulk_reports_by_age"),
                ],
            },
        ),
        migrations.RunSQL(KEYS, NO_KEYS),
    )
