"""Let the database refuse what must never be: illegal moves, changed definitions, changed history, limbo.

The statuses stand here as literals because a migration must not change with the code; a test compares them with
engine.kernel.transitions, pair by pair.
"""

from django.db import migrations

MOVES = """
CREATE FUNCTION wf_legal_move(noun text, old text, new text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT old = new OR (noun, old, new) IN (
    ('version', 'draft', 'active'), ('version', 'active', 'paused'), ('version', 'active', 'archived'),
    ('version', 'paused', 'active'), ('version', 'paused', 'archived'),
    ('instance', 'queued', 'running'), ('instance', 'queued', 'incident'), ('instance', 'queued', 'completed'),
    ('instance', 'queued', 'failed'), ('instance', 'queued', 'cancelled'), ('instance', 'queued', 'expired'),
    ('instance', 'running', 'suspended'), ('instance', 'running', 'incident'), ('instance', 'running', 'completed'),
    ('instance', 'running', 'failed'), ('instance', 'running', 'cancelled'), ('instance', 'running', 'expired'),
    ('instance', 'suspended', 'running'), ('instance', 'suspended', 'incident'), ('instance', 'suspended', 'cancelled'),
    ('instance', 'incident', 'running'), ('instance', 'incident', 'suspended'), ('instance', 'incident', 'completed'),
    ('instance', 'incident', 'failed'), ('instance', 'incident', 'cancelled'), ('instance', 'incident', 'expired'),
    ('task', 'open', 'claimed'), ('task', 'open', 'suspended'), ('task', 'open', 'completed'), ('task', 'open', 'skipped'),
    ('task', 'open', 'cancelled'), ('task', 'open', 'expired'),
    ('task', 'claimed', 'open'), ('task', 'claimed', 'suspended'), ('task', 'claimed', 'completed'),
    ('task', 'claimed', 'skipped'), ('task', 'claimed', 'cancelled'), ('task', 'claimed', 'expired'),
    ('task', 'suspended', 'open'), ('task', 'suspended', 'claimed'), ('task', 'suspended', 'cancelled'),
    ('task', 'suspended', 'expired'))
$$;

CREATE FUNCTION wf_check_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT wf_legal_move(TG_ARGV[0], OLD.status, NEW.status) THEN
    RAISE EXCEPTION '% % cannot go from % to %', TG_ARGV[0], OLD.id, OLD.status, NEW.status
      USING ERRCODE = 'check_violation', CONSTRAINT = 'legal_move';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER legal_move BEFORE UPDATE OF status ON wf_template_versions FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION wf_check_move('version');
CREATE TRIGGER legal_move BEFORE UPDATE OF status ON wf_instances FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION wf_check_move('instance');
CREATE TRIGGER legal_move BEFORE UPDATE OF status ON wf_tasks FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION wf_check_move('task');
"""

FROZEN = """
CREATE FUNCTION wf_keep_definition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'version % was activated; its definition is frozen', OLD.number
    USING ERRCODE = 'check_violation', CONSTRAINT = 'frozen_definition';
END $$;

CREATE TRIGGER frozen_definition BEFORE UPDATE ON wf_template_versions FOR EACH ROW
  WHEN (OLD.status <> 'draft' AND (OLD.source, OLD.canonical::text, OLD.sha256, OLD.number, OLD.template_id)
        IS DISTINCT FROM (NEW.source, NEW.canonical::text, NEW.sha256, NEW.number, NEW.template_id))
  EXECUTE FUNCTION wf_keep_definition();
CREATE TRIGGER frozen_definition_row BEFORE DELETE ON wf_template_versions FOR EACH ROW
  WHEN (OLD.status <> 'draft') EXECUTE FUNCTION wf_keep_definition();
"""

APPEND_ONLY = """
CREATE FUNCTION wf_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation', CONSTRAINT = 'append_only';
END $$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON wf_audit FOR EACH ROW EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON wf_task_events FOR EACH ROW EXECUTE FUNCTION wf_append_only();

ALTER TABLE wf_audit ADD COLUMN xid xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX audit_by_horizon ON wf_audit (tenant_id, xid, id);
"""

NO_LIMBO = """
CREATE FUNCTION wf_check_instance(checked uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  held text := (SELECT status FROM wf_instances WHERE id = checked);
BEGIN
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
END $$;

CREATE FUNCTION wf_check_own_instance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM wf_check_instance(NEW.id); RETURN NULL; END $$;
CREATE FUNCTION wf_check_new_rows_instance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM wf_check_instance(NEW.instance_id); RETURN NULL; END $$;
CREATE FUNCTION wf_check_old_rows_instance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM wf_check_instance(OLD.instance_id); RETURN NULL; END $$;

CREATE CONSTRAINT TRIGGER no_limbo AFTER INSERT OR UPDATE OF status ON wf_instances DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION wf_check_own_instance();
CREATE CONSTRAINT TRIGGER no_limbo_waits_in AFTER INSERT ON wf_waits DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION wf_check_new_rows_instance();
CREATE CONSTRAINT TRIGGER no_limbo_waits_out AFTER DELETE ON wf_waits DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION wf_check_old_rows_instance();
CREATE CONSTRAINT TRIGGER no_limbo_signals_out AFTER DELETE ON wf_signals DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION wf_check_old_rows_instance();
CREATE CONSTRAINT TRIGGER no_limbo_tasks AFTER INSERT OR UPDATE OF status ON wf_tasks DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION wf_check_new_rows_instance();
"""

UNDO = """
DROP TRIGGER no_limbo ON wf_instances; DROP TRIGGER no_limbo_waits_in ON wf_waits; DROP TRIGGER no_limbo_waits_out ON wf_waits;
DROP TRIGGER no_limbo_signals_out ON wf_signals; DROP TRIGGER no_limbo_tasks ON wf_tasks;
DROP FUNCTION wf_check_own_instance; DROP FUNCTION wf_check_new_rows_instance; DROP FUNCTION wf_check_old_rows_instance;
DROP FUNCTION wf_check_instance;
ALTER TABLE wf_audit DROP COLUMN xid;
DROP TRIGGER append_only ON wf_audit; DROP TRIGGER append_only ON wf_task_events; DROP FUNCTION wf_append_only;
DROP TRIGGER frozen_definition ON wf_template_versions; DROP TRIGGER frozen_definition_row ON wf_template_versions;
DROP FUNCTION wf_keep_definition;
DROP TRIGGER legal_move ON wf_template_versions; DROP TRIGGER legal_move ON wf_instances; DROP TRIGGER legal_move ON wf_tasks;
DROP FUNCTION wf_check_move; DROP FUNCTION wf_legal_move;
"""


class Migration(migrations.Migration):
    dependencies = [("engine", "0002_tenant_keys")]
    operations = [migrations.RunSQL(MOVES + FROZEN + APPEND_ONLY + NO_LIMBO, UNDO)]
