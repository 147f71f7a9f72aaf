"""Let twins of one request wait for each other and find the kept answer in one journey.

A volatile function sees, behind the lock, what was committed while it waited; one statement with a subquery would not.
"""

from django.db import migrations

CREATE = """
CREATE FUNCTION wf_asked_before(tenant uuid, actor uuid, route text, key text)
RETURNS TABLE (body_sha256 text, status smallint, answer text) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws('|', $1, $2, $3, $4), 0));
  RETURN QUERY SELECT k.body_sha256::text, k.status, k.answer #>> '{}' FROM wf_idempotency_keys k
    WHERE k.tenant_id = $1 AND k.actor_id = $2 AND k.route = $3 AND k.key = $4;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("engine", "0021_version_check")]
    operations = [migrations.RunSQL(CREATE, "DROP FUNCTION wf_asked_before;")]
