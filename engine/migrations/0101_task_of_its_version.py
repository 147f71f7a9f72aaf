"""Let a task's version be its instance's, instead of any version of its tenant.

The key to the version needed an index that each act wrote and nobody read. The instance has that key already; the check of an
instance, which runs once per transaction, compares its open tasks with it. So more is refused than before, and for less.
"""

from django.db import migrations, models

HEAD = """
CREATE OR REPLACE FUNCTION wf_check_instance(checked uuid) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path TO 'public', 'pg_temp' AS $function$
DECLARE
  held text := (SELECT status FROM wf_instances WHERE id = checked);
BEGIN
"""
OF_ITS_VERSION = """
  IF EXISTS (SELECT FROM wf_tasks t WHERE t.instance_id = checked AND t.status IN ('open', 'claimed', 'suspended')
             AND t.version_id <> (SELECT i.version_id FROM wf_instances i WHERE i.id = checked))
  THEN
    RAISE EXCEPTION 'instance % would have a task of another version', checked
      USING ERRCODE = 'check_violation', CONSTRAINT = 'task_of_its_version';
  END IF;
"""
AS_BEFORE = """
  IF held = 'running' THEN
    IF NOT EXISTS (SELECT FROM wf_waits w WHERE w.instance_id = checked AND NOT w.side)
       AND NOT EXISTS (SELECT FROM wf_signals s WHERE s.instance_id = checked AND NOT EXISTS
                       (SELECT FROM wf_waits w WHERE w.instance_id = checked AND w.token = s.waiting_token AND w.side))
    THEN
      RAISE EXCEPTION 'instance % would be running with neither wait nor signal', checked
        USING ERRCODE = 'check_violation', CONSTRAINT = 'no_limbo';
    END IF;
    IF EXISTS (SELECT FROM wf_waits w WHERE w.instance_id = checked AND w.kind IN ('timer', 'retry', 'call') AND NOT EXISTS
               (SELECT FROM wf_signals s WHERE s.instance_id = checked AND s.waiting_token = w.token))
    THEN
      RAISE EXCEPTION 'instance % would wait for a time without the signal that brings it', checked
        USING ERRCODE = 'check_violation', CONSTRAINT = 'timer_has_signal';
    END IF;
  ELSIF held IN ('completed', 'failed', 'cancelled', 'expired') THEN
    IF EXISTS (SELECT FROM wf_waits w WHERE w.instance_id = checked)
       OR EXISTS (SELECT FROM wf_tasks t WHERE t.instance_id = checked AND t.status IN ('open', 'claimed', 'suspended'))
    THEN
      RAISE EXCEPTION 'instance % would be % with open waits or tasks', checked, held
        USING ERRCODE = 'check_violation', CONSTRAINT = 'terminal_is_clean';
    END IF;
  END IF;
END $function$;
"""
ASK_IT = """
CREATE CONSTRAINT TRIGGER task_of_its_version AFTER UPDATE OF version_id, instance_id ON wf_tasks DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.version_id <> NEW.version_id OR OLD.instance_id <> NEW.instance_id)
  EXECUTE FUNCTION wf_check_new_rows_instance();
CREATE CONSTRAINT TRIGGER tasks_of_its_version AFTER UPDATE OF version_id ON wf_instances DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.version_id <> NEW.version_id) EXECUTE FUNCTION wf_check_own_instance();
"""
ASK_NO_MORE = "DROP TRIGGER task_of_its_version ON wf_tasks; DROP TRIGGER tasks_of_its_version ON wf_instances;"
KEY = """
ALTER TABLE wf_tasks ADD CONSTRAINT wf_tasks_version_id_same_tenant
  FOREIGN KEY (tenant_id, version_id) REFERENCES wf_template_versions (tenant_id, id);
CREATE INDEX IF NOT EXISTS wf_tasks_version_id_5f6d015c ON wf_tasks (version_id);
"""
NO_KEY = """
ALTER TABLE wf_tasks DROP CONSTRAINT wf_tasks_version_id_same_tenant;
DROP INDEX IF EXISTS wf_tasks_version_id_5f6d015c;
"""


class Migration(migrations.Migration):
    dependencies = (("engine", "0100_fewer_index_entries"),)

    operations = (
        migrations.RunSQL(HEAD + OF_ITS_VERSION + AS_BEFORE, HEAD + AS_BEFORE),
        migrations.RunSQL(ASK_IT, ASK_NO_MORE),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(NO_KEY, KEY)],
            state_operations=[
                migrations.AlterField(
                    "task",
                    "version",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=models.DO_NOTHING,
                        related_name="+",
                        to="engine.templateversion",
                    ),
                )
            ],
        ),
    )
