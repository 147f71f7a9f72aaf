"""Keep the events of tasks by the month in which each task was opened, so that a month that is over gives its disk back.

Their key begins with the task, as every read of them does: the index that repeated this is gone. Nothing is copied.
"""

from django.db import migrations

EVENTS = """
SELECT wf_partition_anew('wf_task_events', 'RANGE (task_id)');
DO $$
DECLARE
  high uuid := wf_next_month_if_used('wf_task_events_before');
BEGIN
  CREATE TABLE wf_task_events_other (LIKE wf_task_events INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE);
  WITH moved AS (DELETE FROM wf_task_events_before WHERE task_id >= high RETURNING *)
    INSERT INTO wf_task_events_other SELECT * FROM moved;
  PERFORM wf_copy_wall('wf_task_events', 'wf_task_events_other');
  DROP INDEX task_events_by_task;
  ALTER TABLE wf_task_events_before ADD CONSTRAINT wf_task_events_before_pkey PRIMARY KEY USING INDEX wf_task_events_before_key;
  ALTER TABLE wf_task_events ADD CONSTRAINT wf_task_events_pkey PRIMARY KEY (task_id, id);
  EXECUTE format('ALTER TABLE wf_task_events ATTACH PARTITION wf_task_events_before FOR VALUES FROM (MINVALUE) TO (%L)', high);
  ALTER TABLE wf_task_events ATTACH PARTITION wf_task_events_other DEFAULT;
  IF (SELECT relrowsecurity FROM pg_class WHERE oid = 'wf_task_events'::regclass) THEN
    ALTER TABLE wf_task_events_before FORCE ROW LEVEL SECURITY;
  END IF;
  PERFORM wf_make_months(3);
  PERFORM wf_drop_month();
END $$;
COMMENT ON TABLE wf_task_events IS 'Partitioned by the month in which the task was opened, which its id says.';
"""

REDACT = """
CREATE OR REPLACE FUNCTION wf_redact_task_events(rows jsonb) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
-- The release before names no task, which leads to the partition.
DECLARE
  changed integer;
BEGIN
  PERFORM set_config('workflow.redacting', 'on', true);
  UPDATE wf_task_events e SET actor_name = r.actor_name, cause = r.cause, old = r.old, new = r.new
    FROM jsonb_to_recordset(rows) AS r(id uuid, task_id uuid, actor_name text, cause text, old jsonb, new jsonb)
    WHERE e.id = r.id AND e.task_id = coalesce(r.task_id, (SELECT n.task_id FROM wf_task_events n WHERE n.id = r.id));
  GET DIAGNOSTICS changed = ROW_COUNT;
  PERFORM set_config('workflow.redacting', 'off', true);
  RETURN changed;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = (("engine", "0140_audit_by_month"),)

    operations = (
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(EVENTS), migrations.RunSQL(REDACT)],
            state_operations=[migrations.RemoveIndex("taskevent", "task_events_by_task")],
        ),
        migrations.RunSQL("DROP FUNCTION wf_next_month_if_used; DROP FUNCTION wf_partition_anew"),
    )
