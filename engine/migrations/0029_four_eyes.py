"""Answer who took part in a child under way, or above it, and say of instances that run already who took part in them.

Four eyes are decided from everybody who ever took part in a step. An instance begun before this release kept only its newest
results; its task events name the others.
"""

from django.db import migrations

TOOK_PART = """
CREATE FUNCTION wf_took_part_inside(parent uuid, steps jsonb, person text) RETURNS boolean LANGUAGE sql STABLE AS $$
  WITH RECURSIVE under_way AS (
    SELECT c.id FROM wf_waits w JOIN wf_instances c ON c.parent_id = w.instance_id AND c.parent_token = w.token
    WHERE w.instance_id = parent AND w.kind = 'child' AND jsonb_exists(steps, w.step)
    UNION ALL
    SELECT c.id FROM under_way u JOIN wf_instances c ON c.parent_id = u.id AND c.parent_token IS NOT NULL)
  SELECT EXISTS (
    SELECT FROM under_way u JOIN wf_runtime_states r ON r.instance_id = u.id
    CROSS JOIN jsonb_each(coalesce(r.snapshot -> 'people', '{}')) took_part
    WHERE jsonb_exists(took_part.value, person))
$$;
"""

CHECKED = """
CREATE FUNCTION wf_checked_from_outside(child uuid, person text, since timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
  WITH RECURSIVE above AS (
    SELECT parent_id, parent_token FROM wf_instances WHERE id = child AND parent_token IS NOT NULL
    UNION ALL
    SELECT i.parent_id, i.parent_token FROM above a JOIN wf_instances i ON i.id = a.parent_id AND i.parent_token IS NOT NULL)
  SELECT EXISTS (
    SELECT FROM above a JOIN wf_waits w ON w.instance_id = a.parent_id AND w.token = a.parent_token
    JOIN wf_tasks k ON k.instance_id = a.parent_id AND jsonb_exists(k.extra -> 'not_inside', w.step)
    JOIN wf_runtime_states r ON r.instance_id = a.parent_id
    WHERE (r.snapshot -> 'people' -> k.step ->> person)::timestamptz >= since)
$$;
"""

FILL = """
WITH acted AS (
  SELECT e.instance_id, k.step, e.actor_name, max(e.at) AS at
  FROM wf_task_events e JOIN wf_tasks k ON k.id = e.task_id JOIN wf_instances i ON i.id = e.instance_id
  WHERE i.status IN ('running', 'suspended', 'incident') AND e.kind IN ('completed', 'answered', 'skipped') AND e.actor_id IS NOT NULL
  GROUP BY 1, 2, 3),
steps AS (
  SELECT instance_id, step,
    jsonb_object_agg(actor_name, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) AS people
  FROM acted GROUP BY 1, 2),
whole AS (SELECT instance_id, jsonb_object_agg(step, people) AS people FROM steps GROUP BY 1)
UPDATE wf_runtime_states r SET snapshot = r.snapshot || jsonb_build_object('people', whole.people)
FROM whole WHERE r.instance_id = whole.instance_id AND NOT jsonb_exists(r.snapshot, 'people');
"""


class Migration(migrations.Migration):
    dependencies = (("engine", "0028_record_as_designed"),)

    operations = (
        migrations.RunSQL(TOOK_PART, "DROP FUNCTION wf_took_part_inside;"),
        migrations.RunSQL(CHECKED, "DROP FUNCTION wf_checked_from_outside;"),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    )
