"""Keep the audit of cases by the month in which each case began, so that a month that retention has emptied gives its disk back.

Rows that are there are not copied: the table becomes a partition as it is, for everything before the next month. Only rows of
people, templates and tenants, and of ids that carry no time, move. The chains stay as they are: partitions know nothing of them.
"""

from django.db import migrations, models

FUNCTIONS = r"""
CREATE FUNCTION wf_month_start(month timestamp) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
-- The smallest UUIDv7 of a month in UTC.
  SELECT (lpad(to_hex((extract(epoch FROM month) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

CREATE FUNCTION wf_months() RETURNS TABLE (root text, parent text, key text, name text, low uuid, high uuid) LANGUAGE sql STABLE AS $$
-- Partitions by time: of which table, by which key, and from which id to which.
  SELECT p.root, p.parent, p.key, c.relname::text,
    coalesce(substring(b.bound FROM 'FROM \(''([^'']+)''')::uuid, '00000000-0000-0000-0000-000000000000'::uuid),
    substring(b.bound FROM 'TO \(''([^'']+)''')::uuid
  FROM (VALUES ('wf_audit', 'wf_audit_cases', 'subject_id'), ('wf_task_events', 'wf_task_events', 'task_id')) AS p (root, parent, key)
  JOIN pg_inherits i ON i.inhparent = to_regclass(p.parent) JOIN pg_class c ON c.oid = i.inhrelid AND c.relkind = 'r'
  CROSS JOIN LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid) AS bound) b
  WHERE b.bound <> 'DEFAULT'
$$;

CREATE FUNCTION wf_copy_wall(source regclass, target regclass) RETURNS void LANGUAGE plpgsql AS $$
-- Policies of a table do not cover who reads its partitions directly: give them their own, the same, and let nobody truncate them.
DECLARE
  one record;
BEGIN
  EXECUTE format('CREATE TRIGGER not_truncated BEFORE TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION wf_append_only()', target);
  FOR one IN SELECT p.polname, pg_get_expr(p.polqual, p.polrelid) AS rule, obj_description(p.oid, 'pg_policy') AS words,
      (SELECT string_agg(CASE WHEN r = 0 THEN 'PUBLIC' ELSE r::regrole::text END, ', ') FROM unnest(p.polroles) r) AS roles
    FROM pg_policy p WHERE p.polrelid = source
  LOOP
    EXECUTE format('CREATE POLICY %I ON %s TO %s USING (%s)', one.polname, target, one.roles, one.rule);
    EXECUTE format('COMMENT ON POLICY %I ON %s IS %L', one.polname, target, one.words);
  END LOOP;
  IF (SELECT relrowsecurity FROM pg_class WHERE oid = source) THEN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', target);
  END IF;
END $$;

CREATE FUNCTION wf_make_month(root text, parent text, key text, month timestamp) RETURNS boolean LANGUAGE plpgsql AS $$
-- Made alone and then attached: the table itself is locked for nobody who writes. What came before its month was there moves into it.
DECLARE
  part text := root || to_char(month, '_YYYY_MM');
  low uuid := wf_month_start(month);
  high uuid := wf_month_start(month + interval '1 month');
BEGIN
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)', part, root);
  PERFORM wf_copy_wall(root::regclass, part::regclass);
  EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', root || '_other');
  PERFORM set_config('workflow.purging', 'on', true);
  EXECUTE format('WITH moved AS (DELETE FROM %1$I WHERE %2$I >= $1 AND %2$I < $2 RETURNING *) INSERT INTO %3$I SELECT * FROM moved',
    root || '_other', key, part) USING low, high;
  PERFORM set_config('workflow.purging', 'off', true);
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, part, low, high);
  RETURN true;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
  RETURN false;
END $$;

CREATE FUNCTION wf_make_months(ahead integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
-- Make the partitions of this month and of some to come, where they are missing; return how many.
DECLARE
  made integer := 0;
  lacking record;
BEGIN
  PERFORM set_config('lock_timeout', '500ms', true);
  FOR lacking IN
    SELECT DISTINCT m.root, m.parent, m.key, d.month FROM wf_months() m CROSS JOIN LATERAL (
      SELECT date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') + make_interval(months => n) AS month
      FROM generate_series(0, ahead) n) d
    WHERE NOT EXISTS (SELECT FROM wf_months() t
      WHERE t.root = m.root AND t.low <= wf_month_start(d.month) AND t.high > wf_month_start(d.month))
    ORDER BY d.month, m.root
  LOOP
    made := made + wf_make_month(lacking.root, lacking.parent, lacking.key, lacking.month)::int;
  END LOOP;
  RETURN made;
END $$;

CREATE FUNCTION wf_is_empty(part regclass) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  found boolean;
BEGIN
  EXECUTE format('SELECT NOT EXISTS (SELECT FROM %s)', part) INTO found;
  RETURN found;
END $$;

CREATE FUNCTION wf_drop_if_empty(parent text, part text) RETURNS boolean LANGUAGE plpgsql AS $$
-- Looked at again under the lock, as the owner without a policy between: what is not seen must not go.
BEGIN
  EXECUTE format('LOCK TABLE ONLY %I, %I IN ACCESS EXCLUSIVE MODE', parent, part);
  EXECUTE format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY', part);
  IF NOT wf_is_empty(part::regclass) THEN
    RAISE lock_not_available;
  END IF;
  EXECUTE format('DROP TABLE %I', part);
  RETURN true;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
  RETURN false;
END $$;

CREATE FUNCTION wf_drop_month() RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
-- Drop one partition of a time that is over and of which nothing is left; return its name. One that somebody uses stays for another day.
-- Whoever writes waits behind the lock that this waits for: so it does not wait long.
DECLARE
  one record;
BEGIN
  PERFORM set_config('lock_timeout', '200ms', true);
  FOR one IN SELECT m.parent, m.name FROM wf_months() m
    WHERE m.high <= wf_month_start(date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC'))
      AND EXISTS (SELECT FROM wf_months() later WHERE later.root = m.root AND later.low >= m.high)
    ORDER BY m.low, m.name
  LOOP
    IF wf_is_empty(one.name::regclass) AND wf_drop_if_empty(one.parent, one.name) THEN
      RETURN one.name;
    END IF;
  END LOOP;
  RETURN NULL;
END $$;
"""
NO_FUNCTIONS = """
DROP FUNCTION wf_drop_month; DROP FUNCTION wf_drop_if_empty; DROP FUNCTION wf_is_empty; DROP FUNCTION wf_make_months;
DROP FUNCTION wf_make_month; DROP FUNCTION wf_copy_wall; DROP FUNCTION wf_months; DROP FUNCTION wf_month_start;
"""

ANEW = """
CREATE FUNCTION wf_partition_anew(root text, by text) RETURNS void LANGUAGE plpgsql AS $$
-- Set a table aside as `<root>_before`, and make it anew with partitions: its columns, checks, keys to others, walls and rights.
DECLARE
  before text := root || '_before';
  one record;
BEGIN
  EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', root);
  EXECUTE format('ALTER TABLE %I RENAME TO %I', root, before);
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE) PARTITION BY %s', root, before, by);
  FOR one IN SELECT conname, contype, pg_get_constraintdef(oid) AS rule FROM pg_constraint
    WHERE conrelid = before::regclass AND contype IN ('f', 'p', 'u')
  LOOP
    IF one.contype = 'f' THEN
      EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I %s', root, one.conname, one.rule);
    ELSE
      EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', before, one.conname);
    END IF;
  END LOOP;
  PERFORM wf_copy_wall(before::regclass, root::regclass);
  EXECUTE format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY', before);
  FOR one IN SELECT a.privilege_type AS right, a.grantee::regrole AS role FROM pg_class c CROSS JOIN aclexplode(c.relacl) a
    WHERE c.oid = before::regclass AND a.grantee NOT IN (0, c.relowner)
  LOOP
    EXECUTE format('GRANT %s ON %I TO %s', one.right, root, one.role);
    EXECUTE format('REVOKE %s ON %I FROM %s', one.right, before, one.role);
  END LOOP;
  FOR one IN SELECT tgname, pg_get_triggerdef(oid) AS rule FROM pg_trigger
    WHERE tgrelid = before::regclass AND NOT tgisinternal AND tgname <> 'not_truncated'
  LOOP
    EXECUTE format('DROP TRIGGER %I ON %I', one.tgname, before);
    EXECUTE replace(one.rule, format('.%I ', before), format('.%I ', root));
  END LOOP;
END $$;

CREATE FUNCTION wf_next_month_if_used(part text) RETURNS uuid LANGUAGE plpgsql AS $$
-- The first id that the rows that are there leave to others: this month's, where there are none.
DECLARE
  month timestamp := date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC');
BEGIN
  RETURN wf_month_start(CASE WHEN wf_is_empty(part::regclass) THEN month ELSE month + interval '1 month' END);
END $$;
"""
NO_ANEW = "DROP FUNCTION wf_next_month_if_used; DROP FUNCTION wf_partition_anew;"

AUDIT = """
SELECT wf_partition_anew('wf_audit', 'LIST (subject_kind)');
DO $$
DECLARE
  next_id bigint := (SELECT CASE WHEN is_called THEN last_value + 1024 ELSE last_value END FROM wf_audit_id_seq);
  high uuid := wf_next_month_if_used('wf_audit_before');
BEGIN
  ALTER TABLE wf_audit_before ALTER COLUMN id DROP IDENTITY;
  EXECUTE format('ALTER TABLE wf_audit ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (START WITH %s INCREMENT BY 1024)', next_id);

  CREATE TABLE wf_audit_cases (LIKE wf_audit INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)
    PARTITION BY RANGE (subject_id);
  CREATE TABLE wf_audit_other (LIKE wf_audit INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE);
  CREATE TABLE wf_audit_rest (LIKE wf_audit INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE);
  WITH moved AS (DELETE FROM wf_audit_before WHERE subject_kind <> 'instance' RETURNING *)
    INSERT INTO wf_audit_rest SELECT * FROM moved;
  WITH moved AS (DELETE FROM wf_audit_before WHERE subject_id >= high RETURNING *)
    INSERT INTO wf_audit_other SELECT * FROM moved;
  PERFORM wf_copy_wall('wf_audit', part) FROM unnest('{wf_audit_cases,wf_audit_other,wf_audit_rest}'::regclass[]) part;

  ALTER INDEX audit_by_horizon RENAME TO wf_audit_before_by_horizon;
  ALTER TABLE wf_audit_before ADD CONSTRAINT wf_audit_before_pkey PRIMARY KEY USING INDEX wf_audit_before_chain;
  ALTER TABLE wf_audit ADD CONSTRAINT audit_chain PRIMARY KEY (subject_id, seq, subject_kind);
  CREATE INDEX audit_by_horizon ON wf_audit (tenant_id, xid, id);
  CREATE INDEX audit_by_number ON wf_audit (id);
  ALTER TABLE wf_audit ATTACH PARTITION wf_audit_cases FOR VALUES IN ('instance');
  ALTER TABLE wf_audit ATTACH PARTITION wf_audit_rest DEFAULT;
  EXECUTE format('ALTER TABLE wf_audit_cases ATTACH PARTITION wf_audit_before FOR VALUES FROM (MINVALUE) TO (%L)', high);
  ALTER TABLE wf_audit_cases ATTACH PARTITION wf_audit_other DEFAULT;
  IF (SELECT relrowsecurity FROM pg_class WHERE oid = 'wf_audit'::regclass) THEN
    ALTER TABLE wf_audit_before FORCE ROW LEVEL SECURITY;
  END IF;
  PERFORM wf_make_months(3);
END $$;
COMMENT ON TABLE wf_audit IS 'Partitioned: cases by the month in which they began (their id says it), everything else in wf_audit_rest.';
"""
VIEW = """
DO $$
BEGIN
  EXECUTE 'CREATE OR REPLACE VIEW wf_audit_acts WITH (security_invoker = true) AS '
    || replace(pg_get_viewdef('wf_audit_acts'::regclass), 'wf_audit_before', 'wf_audit');
  PERFORM wf_drop_month();  -- of a new database: nothing was before
END $$;
"""

REDACT = """
CREATE OR REPLACE FUNCTION wf_redact_audit(erasure uuid, rows jsonb) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
-- Acts come as the text that is stored, which the seal covers. The release before names no subject, which leads to the partition.
DECLARE
  changed integer;
BEGIN
  PERFORM set_config('workflow.redacting', 'on', true);
  UPDATE wf_audit a SET actor_name = r.actor_name, cause = r.cause, old = r.old, new = r.new,
    acts = coalesce(r.acts::json, a.acts), told = coalesce(r.told::json, a.told)
    FROM jsonb_to_recordset(rows) AS r(id bigint, subject_id uuid, actor_name text, cause text, old jsonb, new jsonb,
      acts text, told text)
    WHERE a.id = r.id AND a.subject_id = coalesce(r.subject_id, (SELECT n.subject_id FROM wf_audit n WHERE n.id = r.id));
  GET DIAGNOSTICS changed = ROW_COUNT;
  INSERT INTO wf_audit_redactions (audit_id, tenant_id, erasure_id, seal)
    SELECT r.id, r.tenant_id, erasure, r.seal FROM jsonb_to_recordset(rows) AS r(id bigint, tenant_id uuid, seal text)
    ON CONFLICT (audit_id) DO UPDATE SET erasure_id = excluded.erasure_id, seal = excluded.seal;
  PERFORM set_config('workflow.redacting', 'off', true);
  RETURN changed;
END $$;

CREATE OR REPLACE FUNCTION wf_delete_referring(target regclass, ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
-- Delete the rows of every table that refers to these, so that a new table needs no line here. Partitions go with their table.
DECLARE
  referring record;
BEGIN
  FOR referring IN
    SELECT c.conrelid::regclass AS name, a.attname AS col FROM pg_constraint c
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY(c.conkey) AND a.attname <> 'tenant_id'
    WHERE c.contype = 'f' AND c.confrelid = target AND c.conrelid <> target AND c.conparentid = 0
  LOOP
    EXECUTE format('DELETE FROM %s WHERE %I = ANY($1)', referring.name, referring.col) USING ids;
  END LOOP;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = (("engine", "0139_keys_of_partitions"),)

    operations = (
        migrations.RunSQL(FUNCTIONS, NO_FUNCTIONS),
        migrations.RunSQL(ANEW, NO_ANEW),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(AUDIT), migrations.RunSQL(VIEW), migrations.RunSQL(REDACT)],
            state_operations=[
                migrations.RemoveConstraint("journalrow", "audit_chain"),
                migrations.AddConstraint(
                    "journalrow",
                    models.UniqueConstraint(fields=("subject_id", "seq", "subject_kind"), name="audit_chain"),
                ),
            ],
        ),
    )
