"""Read the acts of steps in their shorter form: what is usual is left out, and a beginning whose end follows
is empty, because the end tells it.

A quarter of what a human approval writes into the audit. Rows that are there read as before: what they say counts.
"""

from django.db import migrations

ACTS = """
CREATE OR REPLACE VIEW wf_audit_acts WITH (security_invoker = true) AS
SELECT r.id + a.nth - 1 AS id, r.id AS row_id, r.tenant_id, r.subject_kind, r.subject_id, r.seq + a.nth - 1 AS seq,
  r.at, r.actor_id, r.actor_name, r.actor_level, CASE WHEN r.acts IS NULL THEN r.action ELSE a.action END AS action,
  CASE WHEN r.acts IS NULL THEN r.step ELSE a.step END AS step,
  CASE WHEN r.acts IS NULL THEN r.iteration ELSE coalesce(a.iteration, CASE WHEN a.run IS NOT NULL THEN '' END) END AS iteration,
  CASE WHEN r.acts IS NULL THEN r.attempt ELSE coalesce(a.attempt, CASE WHEN a.run IS NOT NULL THEN 1 END) END AS attempt,
  CASE WHEN r.acts IS NULL THEN r.cause ELSE coalesce(a.cause, '') END AS cause,
  CASE WHEN r.acts IS NULL THEN r.old WHEN a.action = 'complete_step' AND a.old IS NULL AND a.new IS NOT NULL
    THEN (SELECT jsonb_object_agg(set, NULL) FROM jsonb_object_keys(a.new) set) ELSE a.old END AS old,
  CASE WHEN r.acts IS NULL THEN r.new ELSE a.new END AS new, r.hash, r.xid, a.run
FROM wf_audit r CROSS JOIN LATERAL (
  SELECT t.nth, CASE WHEN t.begins THEN 'execute_step' ELSE t.action END AS action, t.cause, t.old, t.new,
    CASE WHEN t.begins THEN t.next_step ELSE t.step END AS step,
    CASE WHEN t.begins THEN t.next_iteration ELSE t.iteration END AS iteration,
    CASE WHEN t.begins THEN t.next_attempt ELSE t.attempt END AS attempt,
    CASE WHEN t.begins THEN jsonb_strip_nulls(jsonb_build_object('n', t.next_run -> 'n', 'kind', t.next_run -> 'kind',
      'path', t.next_run -> 'path', 'parent', t.next_run -> 'parent')) ELSE t.run END AS run
  FROM (
    SELECT o.*, r.acts IS NOT NULL AND o.action IS NULL AS begins, lead(o.step) OVER w AS next_step,
      lead(o.iteration) OVER w AS next_iteration, lead(o.attempt) OVER w AS next_attempt, lead(o.run) OVER w AS next_run
    FROM ROWS FROM (json_to_recordset(coalesce(r.acts, '[{}]')) AS
      (action text, step text, iteration text, attempt int, cause text, old jsonb, new jsonb, run jsonb)) WITH ORDINALITY
      AS o (action, step, iteration, attempt, cause, old, new, run, nth)
    WINDOW w AS (ORDER BY o.nth)
  ) t
) a
WHERE CASE WHEN r.acts IS NULL THEN r.action ELSE a.action END <> '';
"""
ACTS_BEFORE = """
CREATE OR REPLACE VIEW wf_audit_acts WITH (security_invoker = true) AS
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
"""

PATH = "s.run ->> 'path' AS path"
PATH_OR_STEP = "CASE WHEN s.run ? 'kind' THEN coalesce(s.run ->> 'path', s.step) ELSE s.run ->> 'path' END AS path"
STEPS = """
CREATE OR REPLACE VIEW wf_steps WITH (security_invoker = true) AS
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
"""


class Migration(migrations.Migration):
    dependencies = (("engine", "0102_room_for_updates"),)

    operations = (
        migrations.RunSQL(ACTS, ACTS_BEFORE),
        migrations.RunSQL(STEPS.replace(PATH, PATH_OR_STEP), STEPS),
    )
