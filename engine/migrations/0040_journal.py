"""Let one row of the audit tell a whole commit: acts in a list, and what the kernel was told; steps are read from it.

Rows that are there keep their one act in columns of its own, and processes of the release before may add such rows. The view
`wf_audit_acts` reads acts one by one out of both, `wf_steps` folds the acts of steps into step runs. An act's number is its row's
and its place there; so rows are numbered in steps of 1,024 from now on.
"""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

import engine.models.audit
import engine.models.base

STATUSES = (
    "pending", "running", "success", "failed", "skipped", "retrying", "timed_out", "cancelled", "compensated",
)  # fmt: skip

COLUMNS = """
ALTER TABLE wf_audit ADD COLUMN acts json, ADD COLUMN told json,
  ALTER COLUMN action SET DEFAULT '', ALTER COLUMN cause SET DEFAULT '';
DO $$
BEGIN
  EXECUTE format('ALTER TABLE wf_audit ALTER COLUMN id SET INCREMENT BY 1024 RESTART WITH %s',
    1024 * (2 + (SELECT last_value FROM wf_audit_id_seq) / 1024));
END $$;
"""
COLUMNS_UNDO = """
ALTER TABLE wf_audit ALTER COLUMN id SET INCREMENT BY 1,
  ALTER COLUMN action DROP DEFAULT, ALTER COLUMN cause DROP DEFAULT, DROP COLUMN acts, DROP COLUMN told;
"""

ACTS = """
CREATE VIEW wf_audit_acts WITH (security_invoker = true) AS
SELECT r.id + a.nth - 1 AS id, r.id AS row_id, r.tenant_id, r.subject_kind, r.subject_id, r.seq + a.nth - 1 AS seq,
  r.at, r.actor_id, r.actor_name, r.actor_level, CASE WHEN r.acts IS NULL THEN r.action ELSE a.action END AS action,
  CASE WHEN r.acts IS NULL THEN r.step ELSE a.step END AS step,
  CASE WHEN r.acts IS NULL THEN r.iteration ELSE a.iteration END AS iteration,
  CASE WHEN r.acts IS NULL THEN r.attempt ELSE a.attempt END AS attempt,
  CASE WHEN r.acts IS NULL THEN r.cause ELSE coalesce(a.cause, '') END AS cause,
  CASE WHEN r.acts IS NULL THEN r.old ELSE a.old END AS old, CASE WHEN r.acts IS NULL THEN r.new ELSE a.new END AS new,
  r.hash, r.xid, a.run
FROM wf_audit r CROSS JOIN LATERAL ROWS FROM (json_to_recordset(coalesce(r.acts, '[{}]')) AS
  (action text, step text, iteration text, attempt int, cause text, old jsonb, new jsonb, run jsonb)) WITH ORDINALITY
  AS a (action, step, iteration, attempt, cause, old, new, run, nth)
WHERE CASE WHEN r.acts IS NULL THEN r.action ELSE a.action END <> '';
COMMENT ON VIEW wf_audit_acts IS
  'Acts one by one, of rows that hold several and of those of earlier releases; an act without a name only takes a number.';
"""

STEPS = """
CREATE VIEW wf_steps WITH (security_invoker = true) AS
WITH told AS (
  SELECT s.subject_id AS instance_id, s.tenant_id, (s.run ->> 'n')::bigint AS run, s.attempt, s.seq, s.step,
    s.run ->> 'kind' AS kind, s.run ->> 'path' AS path, s.iteration, names.status,
    coalesce((s.run ->> 'at')::timestamptz, s.at) AS at, s.run -> 'input' AS input, s.run -> 'output' AS output,
    s.run -> 'error' AS error, s.run ->> 'reason' AS reason, (s.run ->> 'parent')::bigint AS parent_run, NULL AS ended_at
  FROM wf_audit_acts s JOIN (VALUES ('hold_step', 'pending'), ('execute_step', 'running'), ('complete_step', 'success'),
    ('fail_step', 'failed'), ('skip_step', 'skipped'), ('retry_step', 'retrying'), ('expire_step', 'timed_out'),
    ('cancel_step', 'cancelled'), ('compensate_step', 'compensated')) AS names (action, status) ON names.action = s.action
  WHERE s.run IS NOT NULL
  UNION ALL
  SELECT instance_id, tenant_id, run, attempt, 0, step, kind, path, iteration, status, started_at, input, output, error,
    reason, parent_run, ended_at FROM wf_step_runs
), ordered AS (
  SELECT told.*, lag(status) OVER (PARTITION BY instance_id, tenant_id, run, attempt ORDER BY seq) AS before FROM told
)
SELECT instance_id, tenant_id, run, attempt, min(step) AS step, min(kind) AS kind,
  min(path) AS path, min(iteration) AS iteration, (array_agg(status ORDER BY seq DESC))[1] AS status,
  coalesce(max(at) FILTER (WHERE before = 'retrying' AND status IN ('running', 'success', 'failed')),
    (array_agg(at ORDER BY seq))[1]) AS started_at,
  (array_agg(CASE WHEN seq = 0 THEN ended_at
    WHEN status IN ('success', 'failed', 'skipped', 'timed_out', 'cancelled', 'compensated') THEN at END ORDER BY seq DESC))[1]
    AS ended_at,
  (array_agg(input ORDER BY seq DESC) FILTER (WHERE input IS NOT NULL))[1] AS input,
  (array_agg(output ORDER BY seq DESC))[1] AS output, (array_agg(error ORDER BY seq DESC))[1] AS error,
  (array_agg(reason ORDER BY seq DESC) FILTER (WHERE reason IS NOT NULL))[1] AS reason, min(parent_run) AS parent_run
FROM ordered GROUP BY instance_id, tenant_id, run, attempt;
COMMENT ON VIEW wf_steps IS
  'Step runs, folded out of the acts of steps and what earlier releases stored: the last act of an attempt says how it stands.';
"""

PURGE = """
CREATE OR REPLACE FUNCTION wf_purge_chains(ids uuid[]) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
-- A chain that does not end where its subject says is evidence and stays. A row's hash covers its place in the chain.
DECLARE
  whole uuid[];
BEGIN
  PERFORM wf_require_ended(ids);
  PERFORM set_config('workflow.purging', 'on', true);
  INSERT INTO wf_audit_anchors (tenant_id, subject_id, template_id, seq, hash, ended_at, anchored_at)
    SELECT tenant_id, id, template_id, audit_seq, audit_hash, coalesce(ended_at, updated_at), clock_timestamp()
    FROM wf_instances i WHERE id = ANY(ids) AND EXISTS
      (SELECT FROM wf_audit a WHERE a.subject_id = i.id AND a.hash = i.audit_hash)
    ON CONFLICT (subject_id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash;
  whole := ARRAY(SELECT n.subject_id FROM wf_audit_anchors n WHERE n.subject_id = ANY(ids) AND EXISTS
    (SELECT FROM wf_audit a WHERE a.subject_id = n.subject_id AND a.hash = n.hash
      AND a.seq - 1 + coalesce(json_array_length(a.acts), 1) = n.seq)
    AND NOT EXISTS (SELECT FROM wf_audit a WHERE a.subject_id = n.subject_id AND a.seq > n.seq));
  DELETE FROM wf_audit WHERE subject_kind = 'instance' AND subject_id = ANY(whole);
  UPDATE wf_audit_anchors SET purged_at = clock_timestamp() WHERE subject_id = ANY(whole);
  PERFORM set_config('workflow.purging', 'off', true);
  RETURN cardinality(whole);
END $$;
"""

REDACT = """
CREATE OR REPLACE FUNCTION wf_only_redacted() RETURNS trigger LANGUAGE plpgsql AS $$
-- An erasure replaces names. Everything else of the row, its hash and its place in the chain above all, stays.
DECLARE
  named text[] := ARRAY['actor_name', 'cause', 'old', 'new', 'acts', 'told'];
BEGIN
  IF TG_OP = 'UPDATE' AND to_jsonb(NEW) - named = to_jsonb(OLD) - named THEN RETURN NEW; END IF;
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation', CONSTRAINT = 'append_only';
END $$;

CREATE OR REPLACE FUNCTION wf_redact_audit(erasure uuid, rows jsonb) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
-- Acts come as the text that is stored, which the seal covers.
DECLARE
  changed integer;
BEGIN
  PERFORM set_config('workflow.redacting', 'on', true);
  UPDATE wf_audit a SET actor_name = r.actor_name, cause = r.cause, old = r.old, new = r.new,
    acts = coalesce(r.acts::json, a.acts), told = coalesce(r.told::json, a.told)
    FROM jsonb_to_recordset(rows) AS r(id bigint, actor_name text, cause text, old jsonb, new jsonb, acts text, told text)
    WHERE a.id = r.id;
  GET DIAGNOSTICS changed = ROW_COUNT;
  INSERT INTO wf_audit_redactions (audit_id, tenant_id, erasure_id, seal)
    SELECT r.id, r.tenant_id, erasure, r.seal FROM jsonb_to_recordset(rows) AS r(id bigint, tenant_id uuid, seal text)
    ON CONFLICT (audit_id) DO UPDATE SET erasure_id = excluded.erasure_id, seal = excluded.seal;
  PERFORM set_config('workflow.redacting', 'off', true);
  RETURN changed;
END $$;
"""


def tenant() -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(
        db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.tenant"
    )


def of_a_row(action: dict[str, Any], cause: dict[str, Any]) -> "list[tuple[str, models.Field[Any, Any]]]":
    return [
        ("subject_kind", models.CharField(max_length=10)),
        ("subject_id", models.UUIDField()),
        ("seq", models.BigIntegerField()),
        ("at", models.DateTimeField()),
        ("actor_id", models.UUIDField(null=True)),
        ("actor_name", models.CharField(blank=True, max_length=100)),
        ("actor_level", models.PositiveSmallIntegerField(default=0)),
        ("action", models.CharField(max_length=40, **action)),
        ("step", models.CharField(max_length=100, null=True)),
        ("iteration", models.TextField(null=True)),
        ("attempt", models.PositiveIntegerField(null=True)),
        ("cause", models.TextField(blank=True, **cause)),
        ("old", models.JSONField(null=True)),
        ("new", models.JSONField(null=True)),
        ("hash", models.CharField(max_length=64)),
        ("xid", engine.models.base.TransactionField()),
        ("tenant", tenant()),
    ]


def of_a_run() -> "list[tuple[str, models.Field[Any, Any]]]":
    return [
        ("pk", models.CompositePrimaryKey("instance_id", "run", "attempt", blank=True, editable=False,
            primary_key=True, serialize=False)),
        ("run", models.BigIntegerField()),
        ("attempt", models.PositiveIntegerField(default=1)),
        ("step", models.CharField(max_length=100)),
        ("kind", models.CharField(max_length=20)),
        ("path", models.TextField()),
        ("iteration", models.TextField(blank=True)),
        ("status", models.CharField(choices=[(one, one) for one in STATUSES], max_length=12)),
        ("started_at", models.DateTimeField()),
        ("ended_at", models.DateTimeField(null=True)),
        ("input", models.JSONField(null=True)),
        ("output", models.JSONField(null=True)),
        ("error", models.JSONField(null=True)),
        ("reason", models.TextField(null=True)),
        ("parent_run", models.BigIntegerField(null=True)),
        ("tenant", tenant()),
    ]  # fmt: skip


def instance(on_delete: Any, related_name: str) -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(
        db_constraint=False, db_index=False, on_delete=on_delete, related_name=related_name, to="engine.instance"
    )


STATE = [
    migrations.DeleteModel("Audit"),
    migrations.DeleteModel("StepRun"),
    migrations.CreateModel(
        name="JournalRow",
        fields=[
            ("id", models.BigAutoField(primary_key=True, serialize=False)),
            *of_a_row({"blank": True, "db_default": ""}, {"db_default": ""}),
            ("acts", engine.models.audit.JSONTextField(null=True)),
            ("told", engine.models.audit.JSONTextField(null=True)),
        ],
        options={
            "db_table": "wf_audit",
            "ordering": ("id",),
            "constraints": [models.UniqueConstraint(fields=("subject_id", "seq"), name="audit_chain")],
        },
    ),
    migrations.CreateModel(
        name="Audit",
        fields=[
            ("id", models.BigIntegerField(primary_key=True, serialize=False)),
            ("row_id", models.BigIntegerField()),
            *of_a_row({}, {}),
        ],
        options={
            "verbose_name": "audit entry",
            "verbose_name_plural": "audit entries",
            "db_table": "wf_audit_acts",
            "ordering": ("row_id", "id"),
            "managed": False,
        },
    ),
    migrations.CreateModel(
        name="StoredStepRun",
        fields=[*of_a_run(), ("instance", instance(django.db.models.deletion.CASCADE, "+"))],
        options={
            "db_table": "wf_step_runs",
            "constraints": [
                models.CheckConstraint(condition=models.Q(("status__in", list(STATUSES))), name="step_status_known")
            ],
        },
    ),
    migrations.CreateModel(
        name="StepRun",
        fields=[*of_a_run(), ("instance", instance(django.db.models.deletion.DO_NOTHING, "step_runs"))],
        options={"db_table": "wf_steps", "ordering": ("run", "attempt"), "managed": False},
    ),
]


class Migration(migrations.Migration):
    dependencies = (("accounts", "0006_drop_unused_indexes"), ("engine", "0058_start_drafts"))

    operations = (
        migrations.SeparateDatabaseAndState(
            state_operations=STATE,
            database_operations=[
                migrations.RunSQL(COLUMNS, COLUMNS_UNDO),
                migrations.RunSQL(ACTS, "DROP VIEW wf_audit_acts"),
                migrations.RunSQL(STEPS, "DROP VIEW wf_steps"),
                migrations.RunSQL(PURGE, migrations.RunSQL.noop),
                migrations.RunSQL(REDACT, migrations.RunSQL.noop),
            ],
        ),
    )
