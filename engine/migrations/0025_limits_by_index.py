"""Count the instances of a limited template within its tenant, where an index leads to those that are not over."""

from django.db import migrations

COUNT = """
CREATE OR REPLACE FUNCTION wf_check_limits() RETURNS trigger LANGUAGE plpgsql AS $$
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
  IF allowed < (SELECT count(*) FROM wf_instances WHERE {within}template_id = NEW.template_id AND parent_token IS NULL
                AND status IN ('running', 'suspended', 'incident')) THEN
    RAISE EXCEPTION 'more instances than the template allows'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'template_limit';
  END IF;
  RETURN NULL;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = (("engine", "0024_words_for_pages"),)

    operations = (migrations.RunSQL(COUNT.format(within="tenant_id = NEW.tenant_id AND "), COUNT.format(within="")),)
