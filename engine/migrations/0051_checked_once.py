"""Check an instance once per transaction, and only after what can make it wrong.

The deferred checks all run at the commit, when nothing changes any more: the first says what the others would say. A statement
has one `statement_timestamp`, so the mark of a check that somebody made earlier (SET CONSTRAINTS … IMMEDIATE) counts for nothing.

A claim or an answer cannot break a rule by the task's own row (only an open task that appears can), nor can an instance whose
status stays as it is, nor a watch that goes.
"""

from django.db import migrations

OPEN = "('open', 'claimed', 'suspended')"

FUNCTIONS = """
CREATE FUNCTION wf_check_instance_once(checked uuid) RETURNS void LANGUAGE plpgsql AS $function$
-- The checks of one commit run in one statement; at another moment nothing is known.
DECLARE
  moment text := statement_timestamp()::text;
  done text := current_setting('workflow.checked', true);
BEGIN
  IF done IS NULL OR NOT starts_with(done, moment) THEN
    done := moment;
  ELSIF position(checked::text IN done) > 0 THEN
    RETURN;
  END IF;
  PERFORM wf_check_instance(checked);
  PERFORM set_config('workflow.checked', done || ' ' || checked, true);
END $function$;
"""
CALLERS = """
CREATE OR REPLACE FUNCTION wf_check_own_instance() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN PERFORM {check}(NEW.id); RETURN NULL; END $function$;
CREATE OR REPLACE FUNCTION wf_check_new_rows_instance() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN PERFORM {check}(NEW.instance_id); RETURN NULL; END $function$;
CREATE OR REPLACE FUNCTION wf_check_old_rows_instance() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN PERFORM {check}(OLD.instance_id); RETURN NULL; END $function$;
"""
NEW_TRIGGERS = f"""
DROP TRIGGER no_limbo ON wf_instances;
CREATE CONSTRAINT TRIGGER no_limbo AFTER UPDATE OF status ON wf_instances DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION wf_check_own_instance();
CREATE CONSTRAINT TRIGGER no_limbo_new AFTER INSERT ON wf_instances DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION wf_check_own_instance();
DROP TRIGGER no_limbo_waits_out ON wf_waits;
CREATE CONSTRAINT TRIGGER no_limbo_waits_out AFTER DELETE ON wf_waits DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NOT OLD.side) EXECUTE FUNCTION wf_check_old_rows_instance();
DROP TRIGGER no_limbo_tasks ON wf_tasks;
CREATE CONSTRAINT TRIGGER no_limbo_tasks AFTER UPDATE OF status ON wf_tasks DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.status IN {OPEN} AND OLD.status NOT IN {OPEN}) EXECUTE FUNCTION wf_check_new_rows_instance();
CREATE CONSTRAINT TRIGGER no_limbo_tasks_new AFTER INSERT ON wf_tasks DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.status IN {OPEN}) EXECUTE FUNCTION wf_check_new_rows_instance();
"""
OLD_TRIGGERS = """
DROP TRIGGER no_limbo_new ON wf_instances; DROP TRIGGER no_limbo ON wf_instances;
CREATE CONSTRAINT TRIGGER no_limbo AFTER INSERT OR UPDATE OF status ON wf_instances DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION wf_check_own_instance();
DROP TRIGGER no_limbo_waits_out ON wf_waits;
CREATE CONSTRAINT TRIGGER no_limbo_waits_out AFTER DELETE ON wf_waits DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION wf_check_old_rows_instance();
DROP TRIGGER no_limbo_tasks_new ON wf_tasks; DROP TRIGGER no_limbo_tasks ON wf_tasks;
CREATE CONSTRAINT TRIGGER no_limbo_tasks AFTER INSERT OR UPDATE OF status ON wf_tasks DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION wf_check_new_rows_instance();
"""


class Migration(migrations.Migration):
    dependencies = (("engine", "0050_tenant_by_the_parent"),)

    operations = (
        migrations.RunSQL(FUNCTIONS, "DROP FUNCTION wf_check_instance_once(uuid)"),
        migrations.RunSQL(CALLERS.format(check="wf_check_instance_once"), CALLERS.format(check="wf_check_instance")),
        migrations.RunSQL(NEW_TRIGGERS, OLD_TRIGGERS),
    )
