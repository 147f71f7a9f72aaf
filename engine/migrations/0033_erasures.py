"""Let a person be erased lawfully: names leave history through one function, each row with a seal that says so."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

import workflowplatform.ids

REDACT = """
CREATE FUNCTION wf_only_redacted() RETURNS trigger LANGUAGE plpgsql AS $$
-- An erasure replaces names. Everything else of the row, its hash and its place in the chain above all, stays.
DECLARE
  named text[] := ARRAY['actor_name', 'cause', 'old', 'new'];
BEGIN
  IF TG_OP = 'UPDATE' AND to_jsonb(NEW) - named = to_jsonb(OLD) - named THEN RETURN NEW; END IF;
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation', CONSTRAINT = 'append_only';
END $$;

DROP TRIGGER append_only ON wf_audit;
DROP TRIGGER append_only ON wf_task_events;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON wf_audit FOR EACH ROW
  WHEN (coalesce(current_setting('workflow.redacting', true), '') <> 'on') EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON wf_task_events FOR EACH ROW
  WHEN (coalesce(current_setting('workflow.redacting', true), '') <> 'on') EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER only_redacted BEFORE UPDATE OR DELETE ON wf_audit FOR EACH ROW
  WHEN (current_setting('workflow.redacting', true) = 'on') EXECUTE FUNCTION wf_only_redacted();
CREATE TRIGGER only_redacted BEFORE UPDATE OR DELETE ON wf_task_events FOR EACH ROW
  WHEN (current_setting('workflow.redacting', true) = 'on') EXECUTE FUNCTION wf_only_redacted();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON wf_audit_redactions FOR EACH ROW
  WHEN (coalesce(current_setting('workflow.redacting', true), '') <> 'on') EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON wf_audit_redactions FOR EACH STATEMENT EXECUTE FUNCTION wf_append_only();

CREATE FUNCTION wf_redact_audit(erasure uuid, rows jsonb) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
  changed integer;
BEGIN
  PERFORM set_config('workflow.redacting', 'on', true);
  UPDATE wf_audit a SET actor_name = r.actor_name, cause = r.cause, old = r.old, new = r.new
    FROM jsonb_to_recordset(rows) AS r(id bigint, actor_name text, cause text, old jsonb, new jsonb) WHERE a.id = r.id;
  GET DIAGNOSTICS changed = ROW_COUNT;
  INSERT INTO wf_audit_redactions (audit_id, tenant_id, erasure_id, seal)
    SELECT r.id, r.tenant_id, erasure, r.seal FROM jsonb_to_recordset(rows) AS r(id bigint, tenant_id uuid, seal text)
    ON CONFLICT (audit_id) DO UPDATE SET erasure_id = excluded.erasure_id, seal = excluded.seal;
  PERFORM set_config('workflow.redacting', 'off', true);
  RETURN changed;
END $$;

CREATE FUNCTION wf_redact_task_events(rows jsonb) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
  changed integer;
BEGIN
  PERFORM set_config('workflow.redacting', 'on', true);
  UPDATE wf_task_events e SET actor_name = r.actor_name, cause = r.cause, old = r.old, new = r.new
    FROM jsonb_to_recordset(rows) AS r(id uuid, actor_name text, cause text, old jsonb, new jsonb) WHERE e.id = r.id;
  GET DIAGNOSTICS changed = ROW_COUNT;
  PERFORM set_config('workflow.redacting', 'off', true);
  RETURN changed;
END $$;
"""

UNDO = """
DROP FUNCTION wf_redact_task_events; DROP FUNCTION wf_redact_audit;
DROP TRIGGER not_truncated ON wf_audit_redactions; DROP TRIGGER append_only ON wf_audit_redactions;
DROP TRIGGER only_redacted ON wf_task_events; DROP TRIGGER only_redacted ON wf_audit;
DROP TRIGGER append_only ON wf_task_events; DROP TRIGGER append_only ON wf_audit;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON wf_audit FOR EACH ROW EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON wf_task_events FOR EACH ROW EXECUTE FUNCTION wf_append_only();
DROP FUNCTION wf_only_redacted;
"""


def tenant() -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.tenant")


class Migration(migrations.Migration):
    dependencies = (("engine", "0032_audit_keys"),)

    operations = (
        migrations.CreateModel(
            name="AuditRedaction",
            fields=[
                ("audit_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("erasure_id", models.UUIDField()),
                ("seal", models.CharField(max_length=64)),
                ("tenant", tenant()),
            ],
            options={"db_table": "wf_audit_redactions"},
        ),
        migrations.CreateModel(
            name="Erasure",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("person_id", models.UUIDField()),
                ("pseudonym", models.CharField(max_length=100)),
                ("reason", models.TextField()),
                ("asked_by_id", models.UUIDField(null=True)),
                ("asked_by_name", models.CharField(max_length=100)),
                ("asked_at", models.DateTimeField()),
                ("agreed_by_name", models.CharField(blank=True, max_length=100)),
                ("done_at", models.DateTimeField(null=True)),
                ("counts", models.JSONField(default=dict)),
                ("tenant", tenant()),
            ],
            options={
                "db_table": "wf_erasures",
                "ordering": ("-id",),
                "constraints": [models.UniqueConstraint(fields=("tenant", "person_id"), name="one_erasure_a_person")],
            },
        ),
        migrations.RunSQL(REDACT, UNDO),
    )
