"""Let people be away with a deputy, and have a manager."""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q, Value

import workflowplatform.database.stored_json
import workflowplatform.ids

STANDS_IN = """
CREATE FUNCTION wf_stands_in(standing uuid) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
-- The absent people for whom a person stands in now. A deputy who is away has a deputy in turn, whose chain is followed.
DECLARE
  moment timestamptz := clock_timestamp();
  found jsonb;
BEGIN
  IF NOT EXISTS (SELECT FROM wf_absences a WHERE a.deputy_id = standing AND a.ends_at > moment AND a.starts_at <= moment)
  THEN RETURN NULL; END IF;
  WITH RECURSIVE chain(person_id, until, scopes, passed) AS (
    SELECT a.person_id, a.ends_at, jsonb_build_array(wf_absence_scope(a)), ARRAY[standing, a.person_id]
    FROM wf_absences a WHERE a.deputy_id = standing AND a.ends_at > moment AND a.starts_at <= moment
    UNION ALL
    SELECT a.person_id, least(c.until, a.ends_at), c.scopes || wf_absence_scope(a), c.passed || a.person_id
    FROM chain c JOIN wf_absences a ON a.deputy_id = c.person_id AND a.ends_at > moment AND a.starts_at <= moment
    WHERE a.person_id <> ALL(c.passed) AND cardinality(c.passed) < 10)
  SELECT jsonb_agg(jsonb_build_object('id', p.id, 'name', p.username, 'title', p.full_name, 'eyes', p.same_eyes,
    'until', c.until, 'scopes', c.scopes) ORDER BY cardinality(c.passed), p.username)
  INTO found FROM chain c JOIN wf_people p ON p.id = c.person_id AND p.is_active;
  RETURN found;
END $$;
"""
TENANTS = """
ALTER TABLE wf_absences ADD CONSTRAINT absence_person_in_tenant
  FOREIGN KEY (tenant_id, person_id) REFERENCES wf_people (tenant_id, id) ON DELETE CASCADE;
ALTER TABLE wf_absences ADD CONSTRAINT absence_deputy_in_tenant
  FOREIGN KEY (tenant_id, deputy_id) REFERENCES wf_people (tenant_id, id) ON DELETE CASCADE;
ALTER TABLE wf_people ADD CONSTRAINT manager_in_tenant
  FOREIGN KEY (tenant_id, manager_id) REFERENCES wf_people (tenant_id, id) NOT VALID;
"""
NO_TENANTS = """
ALTER TABLE wf_people DROP CONSTRAINT manager_in_tenant;
ALTER TABLE wf_absences DROP CONSTRAINT absence_person_in_tenant, DROP CONSTRAINT absence_deputy_in_tenant;
"""
SCOPE = """
CREATE FUNCTION wf_absence_scope(absence wf_absences) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_build_object('roles', absence.roles, 'templates', absence.templates,
    'before', CASE WHEN absence.keeps_open THEN absence.starts_at END)
$$;
"""


def texts() -> "models.Field[list[str], list[str]]":
    return workflowplatform.database.stored_json.TextsField(
        blank=True, db_default=Value([], output_field=models.JSONField()), default=list
    )


def person(name: str, **more: Any) -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(
        db_constraint=False,
        db_index=False,
        on_delete=django.db.models.deletion.CASCADE,
        related_name=name,
        to=settings.AUTH_USER_MODEL,
        **more,
    )


class Migration(migrations.Migration):
    dependencies = (("accounts", "0006_drop_unused_indexes"),)

    operations = (
        migrations.AddField(
            "user",
            "manager",
            models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="team",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddIndex(
            "user",
            models.Index(condition=Q(("manager__isnull", False)), fields=["manager"], name="people_by_manager"),
        ),
        migrations.CreateModel(
            "Absence",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField(help_text="The first moment at which the person is back.")),
                ("roles", texts()),
                ("templates", texts()),
                ("note", models.CharField(blank=True, db_default="", default="", max_length=500)),
                ("keeps_open", models.BooleanField(db_default=False, default=False)),
                ("entered_by", models.CharField(max_length=100)),
                ("entered_at", models.DateTimeField(auto_now_add=True)),
                ("deputy", person("deputyships", blank=True, null=True)),
                ("person", person("absences")),
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
                "db_table": "wf_absences",
                "ordering": ("starts_at", "id"),
                "indexes": [
                    models.Index(fields=["deputy", "ends_at"], name="absences_by_deputy"),
                    models.Index(fields=["person", "ends_at"], name="absences_by_person"),
                    models.Index(fields=["tenant", "ends_at"], name="absences_by_tenant"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(("ends_at__gt", F("starts_at"))), name="absence_ends_after_it_starts"
                    ),
                    models.CheckConstraint(condition=~Q(("deputy", F("person"))), name="absence_has_another_deputy"),
                ],
            },
        ),
        migrations.RunSQL(TENANTS, NO_TENANTS),
        migrations.RunSQL(SCOPE, "DROP FUNCTION wf_absence_scope;"),
        migrations.RunSQL(STANDS_IN, "DROP FUNCTION wf_stands_in;"),
    )
