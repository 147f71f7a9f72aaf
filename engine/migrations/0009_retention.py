"""Let ended work go, and only that: rules, anchors of chains, and the functions through which alone history is deleted."""

from typing import Any

import django.db.models.deletion
import django.db.models.expressions
from django.db import migrations, models

import workflowplatform.ids

PURGE = """
CREATE OR REPLACE FUNCTION wf_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND current_setting('workflow.purging', true) = 'on' THEN RETURN OLD; END IF;
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation', CONSTRAINT = 'append_only';
END $$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON wf_audit_anchors FOR EACH ROW
  WHEN (coalesce(current_setting('workflow.purging', true), '') <> 'on') EXECUTE FUNCTION wf_append_only();

CREATE FUNCTION wf_require_ended(ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  live uuid := (SELECT i.id FROM wf_instances i WHERE i.id = ANY(ids) AND
                (i.status NOT IN ('completed', 'failed', 'cancelled', 'expired')
                 OR EXISTS (SELECT FROM wf_signals s WHERE s.instance_id = i.id)) LIMIT 1);
BEGIN
  IF live IS NOT NULL THEN
    RAISE EXCEPTION 'instance % has not ended', live USING ERRCODE = 'check_violation', CONSTRAINT = 'only_ended_goes';
  END IF;
END $$;

CREATE FUNCTION wf_delete_referring(target regclass, ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
-- Delete the rows of every table that refers to these, so that a new table needs no line here.
DECLARE
  referring record;
BEGIN
  FOR referring IN
    SELECT c.conrelid::regclass AS name, a.attname AS col FROM pg_constraint c
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY(c.conkey) AND a.attname <> 'tenant_id'
    WHERE c.contype = 'f' AND c.confrelid = target AND c.conrelid <> target
  LOOP
    EXECUTE format('DELETE FROM %s WHERE %I = ANY($1)', referring.name, referring.col) USING ids;
  END LOOP;
END $$;

CREATE FUNCTION wf_purge_instances(ids uuid[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  gone integer;
BEGIN
  PERFORM wf_require_ended(ids);
  PERFORM set_config('workflow.purging', 'on', true);
  INSERT INTO wf_audit_anchors (tenant_id, subject_id, template_id, seq, hash, ended_at, anchored_at)
    SELECT tenant_id, id, template_id, audit_seq, audit_hash, coalesce(ended_at, updated_at), clock_timestamp()
    FROM wf_instances WHERE id = ANY(ids)
    ON CONFLICT (subject_id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash;
  PERFORM wf_delete_referring('wf_tasks', ARRAY(SELECT id FROM wf_tasks WHERE instance_id = ANY(ids)));
  PERFORM wf_delete_referring('wf_instances', ids);
  UPDATE wf_instances SET parent_id = NULL WHERE parent_id = ANY(ids) AND parent_token IS NULL;
  DELETE FROM wf_instances WHERE id = ANY(ids);
  GET DIAGNOSTICS gone = ROW_COUNT;
  PERFORM set_config('workflow.purging', 'off', true);
  RETURN gone;
END $$;

CREATE FUNCTION wf_purge_runtime(ids uuid[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  gone integer;
BEGIN
  PERFORM wf_require_ended(ids);
  DELETE FROM wf_effects WHERE instance_id = ANY(ids);
  DELETE FROM wf_signal_receipts WHERE instance_id = ANY(ids);
  DELETE FROM wf_runtime_states WHERE instance_id = ANY(ids);
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $$;

CREATE FUNCTION wf_purge_chains(ids uuid[]) RETURNS integer LANGUAGE plpgsql AS $$
-- A chain that does not end where its subject says is evidence and stays.
DECLARE
  whole uuid[];
BEGIN
  PERFORM wf_require_ended(ids);
  PERFORM set_config('workflow.purging', 'on', true);
  INSERT INTO wf_audit_anchors (tenant_id, subject_id, template_id, seq, hash, ended_at, anchored_at)
    SELECT tenant_id, id, template_id, audit_seq, audit_hash, coalesce(ended_at, updated_at), clock_timestamp()
    FROM wf_instances i WHERE id = ANY(ids) AND EXISTS
      (SELECT FROM wf_audit a WHERE a.subject_id = i.id AND a.seq = i.audit_seq AND a.hash = i.audit_hash)
    ON CONFLICT (subject_id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash;
  whole := ARRAY(SELECT n.subject_id FROM wf_audit_anchors n WHERE n.subject_id = ANY(ids) AND EXISTS
    (SELECT FROM wf_audit a WHERE a.subject_id = n.subject_id AND a.seq = n.seq AND a.hash = n.hash)
    AND NOT EXISTS (SELECT FROM wf_audit a WHERE a.subject_id = n.subject_id AND a.seq > n.seq));
  DELETE FROM wf_audit WHERE subject_kind = 'instance' AND subject_id = ANY(whole);
  UPDATE wf_audit_anchors SET purged_at = clock_timestamp() WHERE subject_id = ANY(whole);
  PERFORM set_config('workflow.purging', 'off', true);
  RETURN cardinality(whole);
END $$;

ALTER TABLE wf_retention_rules ADD CONSTRAINT wf_retention_rules_template_id_same_tenant
  FOREIGN KEY (tenant_id, template_id) REFERENCES wf_templates (tenant_id, id);
"""

UNDO = """
DROP FUNCTION wf_purge_chains; DROP FUNCTION wf_purge_runtime; DROP FUNCTION wf_purge_instances;
DROP FUNCTION wf_delete_referring; DROP FUNCTION wf_require_ended;
DROP TRIGGER append_only ON wf_audit_anchors;
ALTER TABLE wf_retention_rules DROP CONSTRAINT wf_retention_rules_template_id_same_tenant;
CREATE OR REPLACE FUNCTION wf_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation', CONSTRAINT = 'append_only';
END $$;
"""


def window(about: str) -> "models.CharField[Any, Any]":
    return models.CharField(blank=True, help_text=about, max_length=40)


def tenant() -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.tenant")


class Migration(migrations.Migration):
    dependencies = [("engine", "0008_receipts_of_kept_signals")]
    operations = [
        migrations.CreateModel(
            name="AuditAnchor",
            fields=[
                ("subject_id", models.UUIDField(primary_key=True, serialize=False)),
                ("template_id", models.UUIDField()),
                ("seq", models.BigIntegerField()),
                ("hash", models.CharField(max_length=64)),
                ("ended_at", models.DateTimeField()),
                ("anchored_at", models.DateTimeField()),
                ("purged_at", models.DateTimeField(null=True)),
                ("tenant", tenant()),
            ],
            options={
                "db_table": "wf_audit_anchors",
                "indexes": [
                    models.Index(
                        condition=models.Q(("purged_at__isnull", True)),
                        fields=["tenant", "template_id", "ended_at"],
                        name="anchors_with_rows",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RetentionRule",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("completed_for", window("Completed, failed and expired instances.")),
                ("cancelled_for", window("Cancelled instances.")),
                ("runtime_for", window("Snapshots, receipts and calls of ended instances.")),
                ("audit_for", window("The audit of ended instances.")),
                (
                    "template",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="retention",
                        to="engine.template",
                    ),
                ),
                ("tenant", tenant()),
            ],
            options={
                "db_table": "wf_retention_rules",
                "ordering": (django.db.models.expressions.OrderBy(models.F("template"), nulls_first=True),),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "template"), name="one_retention_rule_a_template", nulls_distinct=False
                    )
                ],
            },
        ),
        migrations.RunSQL(PURGE, UNDO),
    ]
