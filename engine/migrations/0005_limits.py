"""Count admitted instances once more at the commit, and refuse a live child whose parent is over and has not told it."""

from django.db import migrations, models

LIMITS = """
CREATE FUNCTION wf_check_limits() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  allowed integer;
BEGIN
  SELECT concurrent_limit INTO allowed FROM wf_tenants WHERE id = NEW.tenant_id AND concurrent_limit IS NOT NULL
    FOR NO KEY UPDATE;
  IF allowed < (SELECT count(*) FROM wf_instances WHERE tenant_id = NEW.tenant_id AND parent_token IS NULL
                AND status IN ('running', 'suspended', 'incident')) THEN
    RAISE EXCEPTION 'more instances than the tenant allows' USING ERRCODE = 'check_violation', CONSTRAINT = 'tenant_limit';
  END IF;
  allowed := NULL;
  SELECT concurrent_limit INTO allowed FROM wf_templates WHERE id = NEW.template_id AND concurrent_limit IS NOT NULL
    FOR NO KEY UPDATE;
  IF allowed < (SELECT count(*) FROM wf_instances WHERE template_id = NEW.template_id AND parent_token IS NULL
                AND status IN ('running', 'suspended', 'incident')) THEN
    RAISE EXCEPTION 'more instances than the template allows'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'template_limit';
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION wf_is_limited(tenant uuid, template uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM wf_tenants WHERE id = tenant AND concurrent_limit IS NOT NULL)
      OR EXISTS (SELECT FROM wf_templates WHERE id = template AND concurrent_limit IS NOT NULL)
$$;

CREATE CONSTRAINT TRIGGER limits_new AFTER INSERT ON wf_instances DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.parent_token IS NULL AND NEW.status = 'running' AND wf_is_limited(NEW.tenant_id, NEW.template_id))
  EXECUTE FUNCTION wf_check_limits();
CREATE CONSTRAINT TRIGGER limits_admitted AFTER UPDATE OF status ON wf_instances DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.status = 'queued' AND NEW.status = 'running') EXECUTE FUNCTION wf_check_limits();

CREATE FUNCTION wf_check_orphans() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM wf_instances c WHERE c.parent_id = NEW.id AND c.parent_token IS NOT NULL
             AND c.status NOT IN ('completed', 'failed', 'cancelled', 'expired') AND NOT EXISTS
             (SELECT FROM wf_signals s WHERE s.instance_id = c.id AND s.type = 'ParentEnded')) THEN
    RAISE EXCEPTION 'instance % would leave a child behind', NEW.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'no_orphans';
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER no_orphans AFTER UPDATE OF status ON wf_instances DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.status IN ('completed', 'failed', 'cancelled', 'expired') AND OLD.status IS DISTINCT FROM NEW.status)
  EXECUTE FUNCTION wf_check_orphans();
"""

UNDO = """
DROP TRIGGER no_orphans ON wf_instances; DROP FUNCTION wf_check_orphans;
DROP TRIGGER limits_new ON wf_instances; DROP TRIGGER limits_admitted ON wf_instances;
DROP FUNCTION wf_check_limits; DROP FUNCTION wf_is_limited;
"""


class Migration(migrations.Migration):
    dependencies = [("engine", "0004_families_and_accepted")]
    operations = [
        migrations.AddField(
            "template", "concurrent_limit", models.PositiveIntegerField(blank=True, editable=False, null=True)
        ),
        migrations.RunSQL(LIMITS, UNDO),
    ]
