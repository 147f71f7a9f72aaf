-- What the database enforces: all functions, tables, constraints, indexes, triggers, row-level policies and views, by name.
-- Generated from the catalogue of a migrated database; do not edit. Renew it with: manage.py database_reference
--
-- This page is for reading; the migrations and workflowplatform/database/row_security.py are the source. "owner" is the role
-- that owns the tables. Where the application has a role of its own, the policies all_tenants also name the role in which
-- it crosses tenants, and both have the rights that row_security.py lists.

-- Functions

CREATE OR REPLACE FUNCTION wf_absence_scope(absence wf_absences)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT jsonb_build_object('roles', absence.roles, 'templates', absence.templates,
    'before', CASE WHEN absence.keeps_open THEN absence.starts_at END)
$function$;

CREATE OR REPLACE FUNCTION wf_answered_by(of_tenant uuid, person text)
 RETURNS SETOF uuid
 LANGUAGE sql
 STABLE SECURITY DEFINER ROWS 20
 SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT id FROM wf_tasks
  WHERE NOT answered_by = '[]'::jsonb AND answered_by @> to_jsonb(ARRAY[person]) AND tenant_id = of_tenant
    AND CASE WHEN coalesce(current_setting('wf.tenant', true), '') <> ''
             THEN of_tenant::text = current_setting('wf.tenant', true)
             ELSE session_user = current_user OR coalesce(current_setting('role', true), 'none') <> 'none' END
$function$;

CREATE OR REPLACE FUNCTION wf_append_only()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'DELETE' AND current_setting('workflow.purging', true) = 'on' THEN RETURN OLD; END IF;
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation', CONSTRAINT = 'append_only';
END $function$;

CREATE OR REPLACE FUNCTION wf_asked_before(tenant uuid, actor uuid, route text, key text)
 RETURNS TABLE(body_sha256 text, status smallint, answer text)
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws('|', $1, $2, $3, $4), 0));
  RETURN QUERY SELECT k.body_sha256::text, k.status, k.answer #>> '{}' FROM wf_idempotency_keys k
    WHERE k.tenant_id = $1 AND k.actor_id = $2 AND k.route = $3 AND k.key = $4;
END $function$;

CREATE OR REPLACE FUNCTION wf_check_bulk_row()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'row % of the act % is settled already', OLD.place, OLD.bulk_act_id
    USING ERRCODE = 'check_violation', CONSTRAINT = 'bulk_row_settled_once';
END $function$;

CREATE OR REPLACE FUNCTION wf_check_instance(checked uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  held text := (SELECT status FROM wf_instances WHERE id = checked);
BEGIN

  IF EXISTS (SELECT FROM wf_tasks t WHERE t.instance_id = checked AND t.status IN ('open', 'claimed', 'suspended')
             AND t.version_id <> (SELECT i.version_id FROM wf_instances i WHERE i.id = checked))
  THEN
    RAISE EXCEPTION 'instance % would have a task of another version', checked
      USING ERRCODE = 'check_violation', CONSTRAINT = 'task_of_its_version';
  END IF;

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

CREATE OR REPLACE FUNCTION wf_check_instance_once(checked uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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

CREATE OR REPLACE FUNCTION wf_check_limits()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
  IF allowed < (SELECT count(*) FROM wf_instances WHERE tenant_id = NEW.tenant_id AND template_id = NEW.template_id AND parent_token IS NULL
                AND status IN ('running', 'suspended', 'incident')) THEN
    RAISE EXCEPTION 'more instances than the template allows'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'template_limit';
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION wf_check_move()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF NOT wf_legal_move(TG_ARGV[0], OLD.status, NEW.status) THEN
    RAISE EXCEPTION '% % cannot go from % to %', TG_ARGV[0], OLD.id, OLD.status, NEW.status
      USING ERRCODE = 'check_violation', CONSTRAINT = 'legal_move';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE FUNCTION wf_check_new_rows_instance()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN PERFORM wf_check_instance_once(NEW.instance_id); RETURN NULL; END $function$;

CREATE OR REPLACE FUNCTION wf_check_old_rows_instance()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN PERFORM wf_check_instance_once(OLD.instance_id); RETURN NULL; END $function$;

CREATE OR REPLACE FUNCTION wf_check_orphans()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF EXISTS (SELECT FROM wf_instances c WHERE c.parent_id = NEW.id AND c.parent_token IS NOT NULL
             AND c.status NOT IN ('completed', 'failed', 'cancelled', 'expired') AND NOT EXISTS
             (SELECT FROM wf_signals s WHERE s.instance_id = c.id AND s.type = 'ParentEnded')) THEN
    RAISE EXCEPTION 'instance % would leave a child behind', NEW.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'no_orphans';
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION wf_check_own_instance()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN PERFORM wf_check_instance_once(NEW.id); RETURN NULL; END $function$;

CREATE OR REPLACE FUNCTION wf_checked_from_outside(child uuid, person text, since timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  WITH RECURSIVE above AS (
    SELECT parent_id, parent_token FROM wf_instances WHERE id = child AND parent_token IS NOT NULL
    UNION ALL
    SELECT i.parent_id, i.parent_token FROM above a JOIN wf_instances i ON i.id = a.parent_id AND i.parent_token IS NOT NULL)
  SELECT EXISTS (
    SELECT FROM above a JOIN wf_waits w ON w.instance_id = a.parent_id AND w.token = a.parent_token
    JOIN wf_tasks k ON k.instance_id = a.parent_id AND jsonb_exists(k.extra -> 'not_inside', w.step)
    JOIN wf_runtime_states r ON r.instance_id = a.parent_id
    WHERE (r.snapshot -> 'people' -> k.step ->> person)::timestamptz >= since)
$function$;

CREATE OR REPLACE FUNCTION wf_delete_referring(target regclass, ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
-- Delete the rows of every table that refers to these, so that a new table needs no line here.
DECLARE
  referring record;
BEGIN
  FOR referring IN
    SELECT c.conrelid::regclass AS name, a.attname AS col FROM pg_constraint c
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY(c.conkey) AND a.attname <> 'tenant_id'
    WHERE c.contype = 'f' AND c.confrelid = target AND c.conrelid <> target
  LOOP
    EXECUTE format('DELETE FROM %s WHERE %I = ANY($1)', referring.name, referring.col) USING ids;
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION wf_is_limited(tenant uuid, template uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT EXISTS (SELECT FROM wf_tenants WHERE id = tenant AND concurrent_limit IS NOT NULL)
      OR EXISTS (SELECT FROM wf_templates WHERE id = template AND concurrent_limit IS NOT NULL)
$function$;

CREATE OR REPLACE FUNCTION wf_keep_definition()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'version % was activated; its definition is frozen', OLD.number
    USING ERRCODE = 'check_violation', CONSTRAINT = 'frozen_definition';
END $function$;

CREATE OR REPLACE FUNCTION wf_legal_move(noun text, old text, new text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION wf_only_redacted()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
-- An erasure replaces names. Everything else of the row, its hash and its place in the chain above all, stays.
DECLARE
  named text[] := ARRAY['actor_name', 'cause', 'old', 'new', 'acts', 'told'];
BEGIN
  IF TG_OP = 'UPDATE' AND to_jsonb(NEW) - named = to_jsonb(OLD) - named THEN RETURN NEW; END IF;
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation', CONSTRAINT = 'append_only';
END $function$;

CREATE OR REPLACE FUNCTION wf_purge_chains(ids uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
-- A chain that does not end where its subject says is evidence and stays. A row's hash covers its place in the chain.
DECLARE
  whole uuid[];
BEGIN
  PERFORM wf_require_ended(ids);
  PERFORM set_config('workflow.purging', 'on', true);
  INSERT INTO wf_audit_anchors (tenant_id, subject_id, template_id, seq, hash, ended_at, anchored_at)
    SELECT tenant_id, id, template_id, audit_seq, audit_hash, coalesce(ended_at, updated_at), clock_timestamp()
    FROM wf_instances i WHERE id = ANY(ids) AND EXISTS
      (SELECT FROM wf_audit a WHERE a.subject_id = i.id AND a.hash = i.audit_hash)
    ON CONFLICT (subject_id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash;
  whole := ARRAY(SELECT n.subject_id FROM wf_audit_anchors n WHERE n.subject_id = ANY(ids) AND EXISTS
    (SELECT FROM wf_audit a WHERE a.subject_id = n.subject_id AND a.hash = n.hash
      AND a.seq - 1 + coalesce(json_array_length(a.acts), 1) = n.seq)
    AND NOT EXISTS (SELECT FROM wf_audit a WHERE a.subject_id = n.subject_id AND a.seq > n.seq));
  DELETE FROM wf_audit WHERE subject_kind = 'instance' AND subject_id = ANY(whole);
  UPDATE wf_audit_anchors SET purged_at = clock_timestamp() WHERE subject_id = ANY(whole);
  PERFORM set_config('workflow.purging', 'off', true);
  RETURN cardinality(whole);
END $function$;
REVOKE ALL ON FUNCTION wf_purge_chains(uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION wf_purge_instances(ids uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  gone integer;
BEGIN
  PERFORM wf_require_ended(ids);
  PERFORM set_config('workflow.purging', 'on', true);
  INSERT INTO wf_audit_anchors (tenant_id, subject_id, template_id, seq, hash, ended_at, anchored_at)
    SELECT tenant_id, id, template_id, audit_seq, audit_hash, coalesce(ended_at, updated_at), clock_timestamp()
    FROM wf_instances WHERE id = ANY(ids)
    ON CONFLICT (subject_id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash;
  PERFORM wf_delete_referring('wf_tasks', ARRAY(SELECT id FROM wf_tasks WHERE instance_id = ANY(ids)));
  PERFORM wf_delete_referring('wf_instances', ids);
  UPDATE wf_instances SET parent_id = NULL WHERE parent_id = ANY(ids) AND parent_token IS NULL;
  DELETE FROM wf_instances WHERE id = ANY(ids);
  GET DIAGNOSTICS gone = ROW_COUNT;
  PERFORM set_config('workflow.purging', 'off', true);
  RETURN gone;
END $function$;
REVOKE ALL ON FUNCTION wf_purge_instances(uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION wf_purge_runtime(ids uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  gone integer;
BEGIN
  PERFORM wf_require_ended(ids);
  DELETE FROM wf_effects WHERE instance_id = ANY(ids);
  DELETE FROM wf_signal_receipts WHERE instance_id = ANY(ids);
  DELETE FROM wf_runtime_states WHERE instance_id = ANY(ids);
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $function$;
REVOKE ALL ON FUNCTION wf_purge_runtime(uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION wf_redact_audit(erasure uuid, rows jsonb)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
-- Acts come as the text that is stored, which the seal covers.
DECLARE
  changed integer;
BEGIN
  PERFORM set_config('workflow.redacting', 'on', true);
  UPDATE wf_audit a SET actor_name = r.actor_name, cause = r.cause, old = r.old, new = r.new,
    acts = coalesce(r.acts::json, a.acts), told = coalesce(r.told::json, a.told)
    FROM jsonb_to_recordset(rows) AS r(id bigint, actor_name text, cause text, old jsonb, new jsonb, acts text, told text)
    WHERE a.id = r.id;
  GET DIAGNOSTICS changed = ROW_COUNT;
  INSERT INTO wf_audit_redactions (audit_id, tenant_id, erasure_id, seal)
    SELECT r.id, r.tenant_id, erasure, r.seal FROM jsonb_to_recordset(rows) AS r(id bigint, tenant_id uuid, seal text)
    ON CONFLICT (audit_id) DO UPDATE SET erasure_id = excluded.erasure_id, seal = excluded.seal;
  PERFORM set_config('workflow.redacting', 'off', true);
  RETURN changed;
END $function$;
REVOKE ALL ON FUNCTION wf_redact_audit(uuid,jsonb) FROM PUBLIC;

CREATE OR REPLACE FUNCTION wf_redact_task_events(rows jsonb)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  changed integer;
BEGIN
  PERFORM set_config('workflow.redacting', 'on', true);
  UPDATE wf_task_events e SET actor_name = r.actor_name, cause = r.cause, old = r.old, new = r.new
    FROM jsonb_to_recordset(rows) AS r(id uuid, actor_name text, cause text, old jsonb, new jsonb) WHERE e.id = r.id;
  GET DIAGNOSTICS changed = ROW_COUNT;
  PERFORM set_config('workflow.redacting', 'off', true);
  RETURN changed;
END $function$;
REVOKE ALL ON FUNCTION wf_redact_task_events(jsonb) FROM PUBLIC;

CREATE OR REPLACE FUNCTION wf_require_ended(ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  live uuid := (SELECT i.id FROM wf_instances i WHERE i.id = ANY(ids) AND
                (i.status NOT IN ('completed', 'failed', 'cancelled', 'expired')
                 OR EXISTS (SELECT FROM wf_signals s WHERE s.instance_id = i.id)) LIMIT 1);
BEGIN
  IF live IS NOT NULL THEN
    RAISE EXCEPTION 'instance % has not ended', live USING ERRCODE = 'check_violation', CONSTRAINT = 'only_ended_goes';
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION wf_require_moved(wanted bigint, moved bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF moved <> wanted THEN
    RAISE EXCEPTION '% of % instances were moved by another slice meanwhile', wanted - moved, wanted
      USING ERRCODE = 'serialization_failure', CONSTRAINT = 'runtime_version';
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION wf_seal_anchors(ids uuid[], seals text[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
-- A seal that is wrong only shows: who calls this without the audit's key explains nothing.
BEGIN
  PERFORM set_config('workflow.purging', 'on', true);
  UPDATE wf_audit_anchors n SET seal = s.seal FROM unnest(ids, seals) AS s(id, seal) WHERE n.subject_id = s.id;
  PERFORM set_config('workflow.purging', 'off', true);
END $function$;
REVOKE ALL ON FUNCTION wf_seal_anchors(uuid[],text[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION wf_stands_in(standing uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
-- The absent people for whom a person stands in now. A deputy who is away has a deputy in turn, whose chain is followed.
DECLARE
  moment timestamptz := clock_timestamp();
  found jsonb;
BEGIN
  IF NOT EXISTS (SELECT FROM wf_absences a WHERE a.deputy_id = standing AND a.ends_at > moment AND a.starts_at <= moment)
  THEN RETURN NULL; END IF;
  WITH RECURSIVE chain(person_id, until, scopes, passed) AS (
    SELECT a.person_id, a.ends_at, jsonb_build_array(wf_absence_scope(a)), ARRAY[standing, a.person_id]
    FROM wf_absences a WHERE a.deputy_id = standing AND a.ends_at > moment AND a.starts_at <= moment
    UNION ALL
    SELECT a.person_id, least(c.until, a.ends_at), c.scopes || wf_absence_scope(a), c.passed || a.person_id
    FROM chain c JOIN wf_absences a ON a.deputy_id = c.person_id AND a.ends_at > moment AND a.starts_at <= moment
    WHERE a.person_id <> ALL(c.passed) AND cardinality(c.passed) < 10)
  SELECT jsonb_agg(jsonb_build_object('id', p.id, 'name', p.username, 'title', p.full_name, 'eyes', p.same_eyes,
    'until', c.until, 'scopes', c.scopes) ORDER BY cardinality(c.passed), p.username)
  INTO found FROM chain c JOIN wf_people p ON p.id = c.person_id AND p.is_active;
  RETURN found;
END $function$;

CREATE OR REPLACE FUNCTION wf_took_part_inside(parent uuid, steps jsonb, person text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  WITH RECURSIVE under_way AS (
    SELECT c.id FROM wf_waits w JOIN wf_instances c ON c.parent_id = w.instance_id AND c.parent_token = w.token
    WHERE w.instance_id = parent AND w.kind = 'child' AND jsonb_exists(steps, w.step)
    UNION ALL
    SELECT c.id FROM under_way u JOIN wf_instances c ON c.parent_id = u.id AND c.parent_token IS NOT NULL)
  SELECT EXISTS (
    SELECT FROM under_way u JOIN wf_runtime_states r ON r.instance_id = u.id
    CROSS JOIN jsonb_each(coalesce(r.snapshot -> 'people', '{}')) took_part
    WHERE jsonb_exists(took_part.value, person))
$function$;

-- Tables

CREATE TABLE auth_group (
  id integer GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  name character varying(150) NOT NULL,
  CONSTRAINT auth_group_pkey PRIMARY KEY (id),
  CONSTRAINT auth_group_name_key UNIQUE (name)
);
CREATE INDEX auth_group_name_a6ea08ec_like ON auth_group USING btree (name varchar_pattern_ops);

CREATE TABLE auth_group_permissions (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  group_id integer NOT NULL,
  permission_id integer NOT NULL,
  CONSTRAINT auth_group_permissions_pkey PRIMARY KEY (id),
  CONSTRAINT auth_group_permissions_group_id_permission_id_0cd325b0_uniq UNIQUE (group_id, permission_id),
  CONSTRAINT auth_group_permissio_permission_id_84c5c92e_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES auth_permission(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT auth_group_permissions_group_id_b120cbf9_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES auth_group(id) DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX auth_group_permissions_group_id_b120cbf9 ON auth_group_permissions USING btree (group_id);
CREATE INDEX auth_group_permissions_permission_id_84c5c92e ON auth_group_permissions USING btree (permission_id);

CREATE TABLE auth_permission (
  id integer GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  name character varying(255) NOT NULL,
  content_type_id integer NOT NULL,
  codename character varying(100) NOT NULL,
  CONSTRAINT auth_permission_pkey PRIMARY KEY (id),
  CONSTRAINT auth_permission_content_type_id_codename_01ab375a_uniq UNIQUE (content_type_id, codename),
  CONSTRAINT auth_permission_content_type_id_2f476e4b_fk_django_co FOREIGN KEY (content_type_id) REFERENCES django_content_type(id) DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX auth_permission_content_type_id_2f476e4b ON auth_permission USING btree (content_type_id);

CREATE TABLE axes_accessattempt (
  id integer GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  user_agent character varying(255) NOT NULL,
  ip_address inet,
  username character varying(255),
  http_accept character varying(1025) NOT NULL,
  path_info character varying(255) NOT NULL,
  attempt_time timestamp with time zone NOT NULL,
  get_data text NOT NULL,
  post_data text NOT NULL,
  failures_since_start integer NOT NULL,
  CONSTRAINT axes_accessattempt_pkey PRIMARY KEY (id),
  CONSTRAINT axes_accessattempt_username_ip_address_user_agent_8ea22282_uniq UNIQUE (username, ip_address, user_agent),
  CONSTRAINT axes_accessattempt_failures_since_start_check CHECK (failures_since_start >= 0)
);
CREATE INDEX axes_accessattempt_ip_address_10922d9c ON axes_accessattempt USING btree (ip_address);
CREATE INDEX axes_accessattempt_user_agent_ad89678b ON axes_accessattempt USING btree (user_agent);
CREATE INDEX axes_accessattempt_user_agent_ad89678b_like ON axes_accessattempt USING btree (user_agent varchar_pattern_ops);
CREATE INDEX axes_accessattempt_username_3f2d4ca0 ON axes_accessattempt USING btree (username);
CREATE INDEX axes_accessattempt_username_3f2d4ca0_like ON axes_accessattempt USING btree (username varchar_pattern_ops);

CREATE TABLE axes_accessattemptexpiration (
  access_attempt_id integer NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT axes_accessattemptexpiration_pkey PRIMARY KEY (access_attempt_id),
  CONSTRAINT axes_accessattemptex_access_attempt_id_6b73a47a_fk_axes_acce FOREIGN KEY (access_attempt_id) REFERENCES axes_accessattempt(id) DEFERRABLE INITIALLY DEFERRED
);

CREATE TABLE axes_accessfailurelog (
  id integer GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  user_agent character varying(255) NOT NULL,
  ip_address inet,
  username character varying(255),
  http_accept character varying(1025) NOT NULL,
  path_info character varying(255) NOT NULL,
  attempt_time timestamp with time zone NOT NULL,
  locked_out boolean NOT NULL,
  CONSTRAINT axes_accessfailurelog_pkey PRIMARY KEY (id)
);
CREATE INDEX axes_accessfailurelog_ip_address_2e9f5a7f ON axes_accessfailurelog USING btree (ip_address);
CREATE INDEX axes_accessfailurelog_user_agent_ea145dda ON axes_accessfailurelog USING btree (user_agent);
CREATE INDEX axes_accessfailurelog_user_agent_ea145dda_like ON axes_accessfailurelog USING btree (user_agent varchar_pattern_ops);
CREATE INDEX axes_accessfailurelog_username_a8b7e8a4 ON axes_accessfailurelog USING btree (username);
CREATE INDEX axes_accessfailurelog_username_a8b7e8a4_like ON axes_accessfailurelog USING btree (username varchar_pattern_ops);

CREATE TABLE axes_accesslog (
  id integer GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  user_agent character varying(255) NOT NULL,
  ip_address inet,
  username character varying(255),
  http_accept character varying(1025) NOT NULL,
  path_info character varying(255) NOT NULL,
  attempt_time timestamp with time zone NOT NULL,
  logout_time timestamp with time zone,
  session_hash character varying(64) NOT NULL,
  CONSTRAINT axes_accesslog_pkey PRIMARY KEY (id)
);
CREATE INDEX axes_accesslog_ip_address_86b417e5 ON axes_accesslog USING btree (ip_address);
CREATE INDEX axes_accesslog_user_agent_0e659004 ON axes_accesslog USING btree (user_agent);
CREATE INDEX axes_accesslog_user_agent_0e659004_like ON axes_accesslog USING btree (user_agent varchar_pattern_ops);
CREATE INDEX axes_accesslog_username_df93064b ON axes_accesslog USING btree (username);
CREATE INDEX axes_accesslog_username_df93064b_like ON axes_accesslog USING btree (username varchar_pattern_ops);

CREATE TABLE django_admin_log (
  id integer GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  action_time timestamp with time zone NOT NULL,
  object_id text,
  object_repr character varying(200) NOT NULL,
  action_flag smallint NOT NULL,
  change_message text NOT NULL,
  content_type_id integer,
  user_id uuid NOT NULL,
  CONSTRAINT django_admin_log_pkey PRIMARY KEY (id),
  CONSTRAINT django_admin_log_content_type_id_c4bce8eb_fk_django_co FOREIGN KEY (content_type_id) REFERENCES django_content_type(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT django_admin_log_user_id_c564eba6_fk_wf_people_id FOREIGN KEY (user_id) REFERENCES wf_people(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT django_admin_log_action_flag_check CHECK (action_flag >= 0)
);
CREATE INDEX django_admin_log_content_type_id_c4bce8eb ON django_admin_log USING btree (content_type_id);
CREATE INDEX django_admin_log_user_id_c564eba6 ON django_admin_log USING btree (user_id);
ALTER TABLE django_admin_log ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON django_admin_log TO owner USING (true);
CREATE POLICY own_tenant ON django_admin_log TO PUBLIC USING ((EXISTS ( SELECT FROM wf_people p WHERE p.id = django_admin_log.user_id)));

CREATE TABLE django_content_type (
  id integer GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  app_label character varying(100) NOT NULL,
  model character varying(100) NOT NULL,
  CONSTRAINT django_content_type_pkey PRIMARY KEY (id),
  CONSTRAINT django_content_type_app_label_model_76bd3d3b_uniq UNIQUE (app_label, model)
);

CREATE TABLE django_migrations (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  app character varying(255) NOT NULL,
  name character varying(255) NOT NULL,
  applied timestamp with time zone NOT NULL,
  CONSTRAINT django_migrations_pkey PRIMARY KEY (id)
);

CREATE TABLE django_session (
  session_key character varying(40) NOT NULL,
  session_data text NOT NULL,
  expire_date timestamp with time zone NOT NULL,
  CONSTRAINT django_session_pkey PRIMARY KEY (session_key)
);
CREATE INDEX django_session_expire_date_a5c62663 ON django_session USING btree (expire_date);
CREATE INDEX django_session_session_key_c0390e0f_like ON django_session USING btree (session_key varchar_pattern_ops);

CREATE TABLE wf_absences (
  id uuid NOT NULL,
  starts_at timestamp with time zone NOT NULL,
  ends_at timestamp with time zone NOT NULL,
  roles jsonb DEFAULT '[]'::jsonb NOT NULL,
  templates jsonb DEFAULT '[]'::jsonb NOT NULL,
  note character varying(500) DEFAULT ''::character varying NOT NULL,
  keeps_open boolean DEFAULT false NOT NULL,
  entered_by character varying(100) NOT NULL,
  entered_at timestamp with time zone NOT NULL,
  deputy_id uuid,
  person_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_absences_pkey PRIMARY KEY (id),
  CONSTRAINT absence_deputy_in_tenant FOREIGN KEY (tenant_id, deputy_id) REFERENCES wf_people(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT absence_person_in_tenant FOREIGN KEY (tenant_id, person_id) REFERENCES wf_people(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_absences_tenant_id_e3d32b67_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT absence_ends_after_it_starts CHECK (ends_at > starts_at),
  CONSTRAINT absence_has_another_deputy CHECK (NOT (deputy_id = person_id AND deputy_id IS NOT NULL))
);
CREATE INDEX absences_by_deputy ON wf_absences USING btree (deputy_id, ends_at);
CREATE INDEX absences_by_person ON wf_absences USING btree (person_id, ends_at);
CREATE INDEX absences_by_tenant ON wf_absences USING btree (tenant_id, ends_at);
ALTER TABLE wf_absences ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_absences TO owner USING (true);
CREATE POLICY own_tenant ON wf_absences TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_audit (
  id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
  subject_kind character varying(10) NOT NULL,
  subject_id uuid NOT NULL,
  seq bigint NOT NULL,
  at timestamp with time zone NOT NULL,
  actor_id uuid,
  actor_name character varying(100) NOT NULL,
  actor_level smallint NOT NULL,
  action character varying(40) DEFAULT ''::character varying NOT NULL,
  step character varying(100),
  iteration text,
  attempt integer,
  cause text DEFAULT ''::text NOT NULL,
  old jsonb,
  new jsonb,
  hash character varying(64) NOT NULL,
  tenant_id uuid NOT NULL,
  xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
  acts json,
  told json,
  CONSTRAINT wf_audit_pkey PRIMARY KEY (id),
  CONSTRAINT audit_chain UNIQUE (subject_id, seq),
  CONSTRAINT wf_audit_tenant_id_2626ce4b_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT wf_audit_actor_level_check CHECK (actor_level >= 0),
  CONSTRAINT wf_audit_attempt_check CHECK (attempt >= 0)
);
CREATE INDEX audit_by_horizon ON wf_audit USING btree (tenant_id, xid, id);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON wf_audit FOR EACH ROW WHEN (COALESCE(current_setting('workflow.redacting'::text, true), ''::text) <> 'on'::text) EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON wf_audit FOR EACH STATEMENT EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER only_redacted BEFORE DELETE OR UPDATE ON wf_audit FOR EACH ROW WHEN (current_setting('workflow.redacting'::text, true) = 'on'::text) EXECUTE FUNCTION wf_only_redacted();
ALTER TABLE wf_audit ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_audit TO owner USING (true);
CREATE POLICY own_tenant ON wf_audit TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_audit_anchors (
  subject_id uuid NOT NULL,
  template_id uuid NOT NULL,
  seq bigint NOT NULL,
  hash character varying(64) NOT NULL,
  ended_at timestamp with time zone NOT NULL,
  anchored_at timestamp with time zone NOT NULL,
  purged_at timestamp with time zone,
  tenant_id uuid NOT NULL,
  seal character varying(64) DEFAULT ''::character varying NOT NULL,
  CONSTRAINT wf_audit_anchors_pkey PRIMARY KEY (subject_id),
  CONSTRAINT wf_audit_anchors_tenant_id_d3ce2485_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX anchors_with_rows ON wf_audit_anchors USING btree (tenant_id, template_id, ended_at) WHERE purged_at IS NULL;
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON wf_audit_anchors FOR EACH ROW WHEN (COALESCE(current_setting('workflow.purging'::text, true), ''::text) <> 'on'::text) EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON wf_audit_anchors FOR EACH STATEMENT EXECUTE FUNCTION wf_append_only();
ALTER TABLE wf_audit_anchors ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_audit_anchors TO owner USING (true);
CREATE POLICY own_tenant ON wf_audit_anchors TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_audit_plain_ends (
  subject_id uuid NOT NULL,
  subject_kind character varying(10) NOT NULL,
  seq bigint NOT NULL,
  hash character varying(64) NOT NULL,
  seal character varying(64) NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_audit_plain_ends_pkey PRIMARY KEY (subject_id),
  CONSTRAINT wf_audit_plain_ends_tenant_id_ece7df41_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON wf_audit_plain_ends FOR EACH ROW WHEN (COALESCE(current_setting('workflow.purging'::text, true), ''::text) <> 'on'::text) EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON wf_audit_plain_ends FOR EACH STATEMENT EXECUTE FUNCTION wf_append_only();
ALTER TABLE wf_audit_plain_ends ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_audit_plain_ends TO owner USING (true);
CREATE POLICY own_tenant ON wf_audit_plain_ends TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_audit_redactions (
  audit_id bigint NOT NULL,
  erasure_id uuid NOT NULL,
  seal character varying(64) NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_audit_redactions_pkey PRIMARY KEY (audit_id),
  CONSTRAINT wf_audit_redactions_tenant_id_23fc709d_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON wf_audit_redactions FOR EACH ROW WHEN (COALESCE(current_setting('workflow.redacting'::text, true), ''::text) <> 'on'::text) EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON wf_audit_redactions FOR EACH STATEMENT EXECUTE FUNCTION wf_append_only();
ALTER TABLE wf_audit_redactions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_audit_redactions TO owner USING (true);
CREATE POLICY own_tenant ON wf_audit_redactions TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_audit_roots (
  id uuid NOT NULL,
  made_at timestamp with time zone NOT NULL,
  chains bigint NOT NULL,
  digest character varying(64) NOT NULL,
  statement text NOT NULL,
  signature character varying(100) NOT NULL,
  public_key character varying(50) NOT NULL,
  file character varying(200) NOT NULL,
  CONSTRAINT wf_audit_roots_pkey PRIMARY KEY (id)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON wf_audit_roots FOR EACH ROW EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON wf_audit_roots FOR EACH STATEMENT EXECUTE FUNCTION wf_append_only();

CREATE TABLE wf_bulk_acts (
  id uuid NOT NULL,
  action character varying(20) NOT NULL,
  reason character varying(500) NOT NULL,
  arguments jsonb NOT NULL,
  total integer NOT NULL,
  started_by_id uuid NOT NULL,
  started_by_name character varying(100) NOT NULL,
  started_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone,
  stopped_by_name character varying(100) NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_bulk_acts_pkey PRIMARY KEY (id),
  CONSTRAINT bulk_act_in_tenant UNIQUE (tenant_id, id),
  CONSTRAINT wf_bulk_acts_tenant_id_c76c6119_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT wf_bulk_acts_total_check CHECK (total >= 0)
);
CREATE INDEX bulk_acts_open ON wf_bulk_acts USING btree (id) WHERE ended_at IS NULL;
ALTER TABLE wf_bulk_acts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_bulk_acts TO owner USING (true);
CREATE POLICY own_tenant ON wf_bulk_acts TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_bulk_reports (
  id uuid NOT NULL,
  person_id uuid NOT NULL,
  action character varying(10) NOT NULL,
  query text NOT NULL,
  results jsonb NOT NULL,
  done integer NOT NULL,
  "left" integer NOT NULL,
  created_at timestamp with time zone NOT NULL,
  tenant_id uuid NOT NULL,
  words jsonb DEFAULT '{}'::jsonb NOT NULL,
  CONSTRAINT wf_bulk_reports_pkey PRIMARY KEY (id),
  CONSTRAINT wf_bulk_reports_tenant_id_b1721f9f_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT wf_bulk_reports_done_check CHECK (done >= 0),
  CONSTRAINT wf_bulk_reports_left_check CHECK ("left" >= 0)
);
CREATE INDEX bulk_reports_by_age ON wf_bulk_reports USING btree (created_at);
CREATE INDEX bulk_reports_by_person ON wf_bulk_reports USING btree (person_id, id DESC);
ALTER TABLE wf_bulk_reports ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_bulk_reports TO owner USING (true);
CREATE POLICY own_tenant ON wf_bulk_reports TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_bulk_rows (
  id uuid NOT NULL,
  place integer NOT NULL,
  subject_id uuid NOT NULL,
  subject_name character varying(300) NOT NULL,
  status character varying(10) NOT NULL,
  message text NOT NULL,
  at timestamp with time zone,
  bulk_act_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_bulk_rows_pkey PRIMARY KEY (id),
  CONSTRAINT bulk_row_place_once UNIQUE (bulk_act_id, place),
  CONSTRAINT bulk_row_subject_once UNIQUE (bulk_act_id, subject_id),
  CONSTRAINT wf_bulk_rows_bulk_act_id_same_tenant FOREIGN KEY (tenant_id, bulk_act_id) REFERENCES wf_bulk_acts(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT bulk_row_status_known CHECK (status::text = ANY (ARRAY['waiting'::character varying, 'done'::character varying, 'refused'::character varying, 'stopped'::character varying]::text[])),
  CONSTRAINT wf_bulk_rows_place_check CHECK (place >= 0)
);
CREATE INDEX bulk_rows_waiting ON wf_bulk_rows USING btree (bulk_act_id, place) WHERE status::text = 'waiting'::text;
CREATE TRIGGER bulk_row_settled_once BEFORE UPDATE ON wf_bulk_rows FOR EACH ROW WHEN (old.status::text <> 'waiting'::text) EXECUTE FUNCTION wf_check_bulk_row();
ALTER TABLE wf_bulk_rows ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_bulk_rows TO owner USING (true);
CREATE POLICY own_tenant ON wf_bulk_rows TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_calendars (
  id uuid NOT NULL,
  name character varying(63) NOT NULL,
  title character varying(200) NOT NULL,
  content json NOT NULL,
  changed_at timestamp with time zone NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_calendars_pkey PRIMARY KEY (id),
  CONSTRAINT calendar_name_once_a_tenant UNIQUE (tenant_id, name),
  CONSTRAINT wf_calendars_tenant_id_a13a2c0e_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
ALTER TABLE wf_calendars ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_calendars TO owner USING (true);
CREATE POLICY own_tenant ON wf_calendars TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_case_files (
  id uuid NOT NULL,
  name character varying(200) NOT NULL,
  content_type character varying(100) NOT NULL,
  size bigint NOT NULL,
  sha256 character varying(64) NOT NULL,
  added_by_id uuid,
  added_by_name character varying(100) NOT NULL,
  added_at timestamp with time zone NOT NULL,
  draft_id uuid,
  instance_id uuid,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_case_files_pkey PRIMARY KEY (id),
  CONSTRAINT wf_case_files_draft_id_same_tenant FOREIGN KEY (tenant_id, draft_id) REFERENCES wf_start_drafts(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_case_files_instance_id_same_tenant FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances(tenant_id, id),
  CONSTRAINT wf_case_files_tenant_id_4ea0046e_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT file_of_a_draft_or_an_instance CHECK ((draft_id IS NULL OR instance_id IS NULL) AND 1 = ( CASE WHEN draft_id IS NULL THEN 1 ELSE 0 END + CASE WHEN instance_id IS NULL THEN 1 ELSE 0 END)),
  CONSTRAINT wf_case_files_size_check CHECK (size >= 0)
);
CREATE INDEX case_files_by_draft ON wf_case_files USING btree (draft_id, id) WHERE draft_id IS NOT NULL;
CREATE INDEX case_files_by_instance ON wf_case_files USING btree (instance_id, id) WHERE instance_id IS NOT NULL;
ALTER TABLE wf_case_files ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_case_files TO owner USING (true);
CREATE POLICY own_tenant ON wf_case_files TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_dead_letters (
  id uuid NOT NULL,
  envelope jsonb NOT NULL,
  reason text NOT NULL,
  node character varying(200) NOT NULL,
  at timestamp with time zone NOT NULL,
  tenant_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  CONSTRAINT wf_dead_letters_pkey PRIMARY KEY (id),
  CONSTRAINT wf_dead_letters_instance_id_same_tenant FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances(tenant_id, id)
);
CREATE INDEX dead_letters_by_tenant ON wf_dead_letters USING btree (tenant_id, id DESC);
CREATE INDEX wf_dead_letters_instance_id_b44b5da5 ON wf_dead_letters USING btree (instance_id);
ALTER TABLE wf_dead_letters ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_dead_letters TO owner USING (true);
CREATE POLICY own_tenant ON wf_dead_letters TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_delivery_attempts (
  id uuid NOT NULL,
  number integer NOT NULL,
  began_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone,
  status smallint,
  error text NOT NULL,
  answer text NOT NULL,
  tenant_id uuid NOT NULL,
  delivery_id uuid NOT NULL,
  CONSTRAINT wf_delivery_attempts_pkey PRIMARY KEY (id),
  CONSTRAINT attempt_once_a_delivery UNIQUE (delivery_id, number),
  CONSTRAINT wf_delivery_attempts_delivery_id_same_tenant FOREIGN KEY (tenant_id, delivery_id) REFERENCES wf_webhook_deliveries(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_delivery_attempts_number_check CHECK (number >= 0),
  CONSTRAINT wf_delivery_attempts_status_check CHECK (status >= 0)
);
ALTER TABLE wf_delivery_attempts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_delivery_attempts TO owner USING (true);
CREATE POLICY own_tenant ON wf_delivery_attempts TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_diagrams (
  version_id uuid NOT NULL,
  sha256 character varying(64) NOT NULL,
  made_with character varying(60) NOT NULL,
  geometry json,
  made_at timestamp with time zone NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_diagrams_pkey PRIMARY KEY (version_id),
  CONSTRAINT wf_diagrams_version_id_same_tenant FOREIGN KEY (tenant_id, version_id) REFERENCES wf_template_versions(tenant_id, id) ON DELETE CASCADE
);
ALTER TABLE wf_diagrams ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_diagrams TO owner USING (true);
CREATE POLICY own_tenant ON wf_diagrams TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_effects (
  token bigint NOT NULL,
  path text NOT NULL,
  transport character varying(20) NOT NULL,
  request jsonb NOT NULL,
  key character varying(300) NOT NULL,
  attempt smallint NOT NULL,
  timeout_seconds double precision NOT NULL,
  status character varying(10) NOT NULL,
  result jsonb,
  made smallint NOT NULL,
  intended_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone,
  tenant_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  secrets jsonb NOT NULL,
  CONSTRAINT wf_effects_pkey PRIMARY KEY (instance_id, token),
  CONSTRAINT wf_effects_instance_id_same_tenant FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances(tenant_id, id),
  CONSTRAINT wf_effects_attempt_check CHECK (attempt >= 0),
  CONSTRAINT wf_effects_made_check CHECK (made >= 0)
);
ALTER TABLE wf_effects ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_effects TO owner USING (true);
CREATE POLICY own_tenant ON wf_effects TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_erasures (
  id uuid NOT NULL,
  person_id uuid NOT NULL,
  pseudonym character varying(100) NOT NULL,
  reason text NOT NULL,
  asked_by_id uuid,
  asked_by_name character varying(100) NOT NULL,
  asked_at timestamp with time zone NOT NULL,
  agreed_by_name character varying(100) NOT NULL,
  done_at timestamp with time zone,
  counts jsonb NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_erasures_pkey PRIMARY KEY (id),
  CONSTRAINT one_erasure_a_person UNIQUE (tenant_id, person_id),
  CONSTRAINT wf_erasures_tenant_id_b072a592_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
ALTER TABLE wf_erasures ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_erasures TO owner USING (true);
CREATE POLICY own_tenant ON wf_erasures TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_events (
  id uuid NOT NULL,
  kind character varying(6) NOT NULL,
  name character varying(200) NOT NULL,
  external_id character varying(200) NOT NULL,
  key character varying(200),
  payload jsonb,
  answer jsonb NOT NULL,
  actor_name character varying(100) NOT NULL,
  at timestamp with time zone NOT NULL,
  tenant_id uuid NOT NULL,
  content character varying(64),
  CONSTRAINT wf_events_pkey PRIMARY KEY (id),
  CONSTRAINT wf_events_tenant_id_6498055e_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
CREATE UNIQUE INDEX event_accepted_once ON wf_events USING btree (tenant_id, actor_name, name, external_id) WHERE kind::text = 'event'::text;
CREATE UNIQUE INDEX signal_accepted_once ON wf_events USING btree (tenant_id, actor_name, name, key, external_id) WHERE kind::text = 'signal'::text;
ALTER TABLE wf_events ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_events TO owner USING (true);
CREATE POLICY own_tenant ON wf_events TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_held_references (
  id uuid NOT NULL,
  reference character varying(200) NOT NULL,
  instance_id uuid NOT NULL,
  template_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_held_references_pkey PRIMARY KEY (id),
  CONSTRAINT reference_held_once UNIQUE (template_id, reference),
  CONSTRAINT wf_held_references_instance_id_same_tenant FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_held_references_template_id_same_tenant FOREIGN KEY (tenant_id, template_id) REFERENCES wf_templates(tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX wf_held_references_instance_id_2e51064b ON wf_held_references USING btree (instance_id);
ALTER TABLE wf_held_references ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_held_references TO owner USING (true);
CREATE POLICY own_tenant ON wf_held_references TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_host_locks (
  name character varying(100) NOT NULL,
  holder character varying(200) NOT NULL,
  acquired_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT wf_host_locks_pkey PRIMARY KEY (name)
);
CREATE INDEX wf_host_locks_name_5a53286e_like ON wf_host_locks USING btree (name varchar_pattern_ops);

CREATE TABLE wf_idempotency_keys (
  actor_id uuid NOT NULL,
  route character varying(200) NOT NULL,
  key character varying(200) NOT NULL,
  body_sha256 character varying(64) NOT NULL,
  status smallint NOT NULL,
  answer jsonb NOT NULL,
  created_at timestamp with time zone NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_idempotency_keys_pkey PRIMARY KEY (tenant_id, actor_id, route, key),
  CONSTRAINT wf_idempotency_keys_tenant_id_b94c2ec2_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT wf_idempotency_keys_status_check CHECK (status >= 0)
);
ALTER TABLE wf_idempotency_keys ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_idempotency_keys TO owner USING (true);
CREATE POLICY own_tenant ON wf_idempotency_keys TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_instances (
  audit_seq bigint NOT NULL,
  audit_hash character varying(64) NOT NULL,
  id uuid NOT NULL,
  reference character varying(200),
  status character varying(10) NOT NULL,
  result character varying(11) NOT NULL,
  outcome character varying(100),
  input jsonb,
  state jsonb NOT NULL,
  output jsonb,
  error jsonb,
  started_by_id uuid,
  started_by_name character varying(100) NOT NULL,
  started_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone,
  updated_at timestamp with time zone NOT NULL,
  parent_id uuid,
  tenant_id uuid NOT NULL,
  template_id uuid NOT NULL,
  version_id uuid NOT NULL,
  depth smallint NOT NULL,
  parent_token bigint,
  schedule_id uuid,
  root_id uuid,
  hops integer DEFAULT 0 NOT NULL,
  reference_parts jsonb,
  title character varying(200),
  CONSTRAINT wf_instances_pkey PRIMARY KEY (id),
  CONSTRAINT instance_in_tenant UNIQUE (tenant_id, id),
  CONSTRAINT wf_instances_parent_id_same_tenant FOREIGN KEY (tenant_id, parent_id) REFERENCES wf_instances(tenant_id, id),
  CONSTRAINT wf_instances_template_id_same_tenant FOREIGN KEY (tenant_id, template_id) REFERENCES wf_templates(tenant_id, id),
  CONSTRAINT wf_instances_version_id_same_tenant FOREIGN KEY (tenant_id, version_id) REFERENCES wf_template_versions(tenant_id, id),
  CONSTRAINT instance_status_known CHECK (status::text = ANY (ARRAY['queued'::character varying, 'running'::character varying, 'suspended'::character varying, 'incident'::character varying, 'completed'::character varying, 'failed'::character varying, 'cancelled'::character varying, 'expired'::character varying]::text[])),
  CONSTRAINT wf_instances_depth_check CHECK (depth >= 0),
  CONSTRAINT wf_instances_hops_check CHECK (hops >= 0)
);
CREATE INDEX instances_by_day ON wf_instances USING brin (started_at, ended_at) WITH (autosummarize='on');
CREATE INDEX instances_by_parent ON wf_instances USING btree (parent_id, parent_token) WHERE parent_id IS NOT NULL;
CREATE INDEX instances_by_root ON wf_instances USING btree (root_id) WHERE root_id IS NOT NULL;
CREATE INDEX instances_by_schedule ON wf_instances USING btree (schedule_id) WHERE schedule_id IS NOT NULL;
CREATE INDEX instances_by_starter ON wf_instances USING btree (started_by_id, id DESC);
CREATE INDEX instances_by_status ON wf_instances USING btree (tenant_id, status, id DESC);
CREATE INDEX instances_by_template ON wf_instances USING btree (tenant_id, template_id, id DESC);
CREATE INDEX instances_of_reference ON wf_instances USING btree (tenant_id, reference) WHERE reference IS NOT NULL;
CREATE INDEX wf_instances_version_id_6748678f ON wf_instances USING btree (version_id);
CREATE TRIGGER legal_move BEFORE UPDATE OF status ON wf_instances FOR EACH ROW WHEN (old.status::text IS DISTINCT FROM new.status::text) EXECUTE FUNCTION wf_check_move('instance');
CREATE CONSTRAINT TRIGGER limits_admitted AFTER UPDATE OF status ON wf_instances DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.status::text = 'queued'::text AND new.status::text = 'running'::text) EXECUTE FUNCTION wf_check_limits();
CREATE CONSTRAINT TRIGGER limits_new AFTER INSERT ON wf_instances DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.parent_token IS NULL AND new.status::text = 'running'::text AND wf_is_limited(new.tenant_id, new.template_id)) EXECUTE FUNCTION wf_check_limits();
CREATE CONSTRAINT TRIGGER no_limbo AFTER UPDATE OF status ON wf_instances DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.status::text IS DISTINCT FROM new.status::text) EXECUTE FUNCTION wf_check_own_instance();
CREATE CONSTRAINT TRIGGER no_limbo_new AFTER INSERT ON wf_instances DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wf_check_own_instance();
CREATE CONSTRAINT TRIGGER no_orphans AFTER UPDATE OF status ON wf_instances DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.status::text = ANY (ARRAY['completed'::character varying, 'failed'::character varying, 'cancelled'::character varying, 'expired'::character varying]::text[])) AND old.status::text IS DISTINCT FROM new.status::text) EXECUTE FUNCTION wf_check_orphans();
CREATE CONSTRAINT TRIGGER tasks_of_its_version AFTER UPDATE OF version_id ON wf_instances DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.version_id <> new.version_id) EXECUTE FUNCTION wf_check_own_instance();
ALTER TABLE wf_instances ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_instances TO owner USING (true);
CREATE POLICY own_tenant ON wf_instances TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_kept_signals (
  id uuid NOT NULL,
  name character varying(200) NOT NULL,
  key character varying(200) NOT NULL,
  payload jsonb,
  sent_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  tenant_id uuid NOT NULL,
  sent_by_name text DEFAULT ''::text NOT NULL,
  CONSTRAINT wf_kept_signals_pkey PRIMARY KEY (id),
  CONSTRAINT wf_kept_signals_tenant_id_fa90e2d1_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX kept_signals_by_key ON wf_kept_signals USING btree (tenant_id, name, key, id);
ALTER TABLE wf_kept_signals ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_kept_signals TO owner USING (true);
CREATE POLICY own_tenant ON wf_kept_signals TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_list_settings (
  id uuid NOT NULL,
  person_id uuid NOT NULL,
  start_view character varying(10) NOT NULL,
  columns jsonb NOT NULL,
  start_filter_id uuid,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_list_settings_pkey PRIMARY KEY (id),
  CONSTRAINT list_settings_once_a_person UNIQUE (tenant_id, person_id),
  CONSTRAINT wf_list_settings_start_filter_id_same_tenant FOREIGN KEY (tenant_id, start_filter_id) REFERENCES wf_saved_filters(tenant_id, id) ON DELETE SET NULL (start_filter_id),
  CONSTRAINT wf_list_settings_tenant_id_5572cb12_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
ALTER TABLE wf_list_settings ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_list_settings TO owner USING (true);
CREATE POLICY own_tenant ON wf_list_settings TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_memberships (
  id uuid NOT NULL,
  user_id uuid NOT NULL,
  role_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  leads boolean DEFAULT false NOT NULL,
  CONSTRAINT wf_memberships_pkey PRIMARY KEY (id),
  CONSTRAINT role_held_once UNIQUE (user_id, role_id),
  CONSTRAINT wf_memberships_role_id_same_tenant FOREIGN KEY (tenant_id, role_id) REFERENCES wf_roles(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_memberships_user_id_same_tenant FOREIGN KEY (tenant_id, user_id) REFERENCES wf_people(tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX wf_memberships_role_id_40669b12 ON wf_memberships USING btree (role_id);
ALTER TABLE wf_memberships ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_memberships TO owner USING (true);
CREATE POLICY own_tenant ON wf_memberships TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_notification_cursors (
  id uuid NOT NULL,
  after_xid bigint NOT NULL,
  after_id bigint NOT NULL,
  due_until timestamp with time zone,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_notification_cursors_pkey PRIMARY KEY (id),
  CONSTRAINT one_notification_cursor_a_tenant UNIQUE (tenant_id),
  CONSTRAINT wf_notification_cursors_tenant_id_b1ad06f9_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
ALTER TABLE wf_notification_cursors ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_notification_cursors TO owner USING (true);
CREATE POLICY own_tenant ON wf_notification_cursors TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_notification_settings (
  id uuid NOT NULL,
  mail jsonb NOT NULL,
  push jsonb,
  quiet boolean NOT NULL,
  quiet_from time without time zone NOT NULL,
  quiet_until time without time zone NOT NULL,
  quiet_weekend boolean NOT NULL,
  digest_at time without time zone NOT NULL,
  bounced_at timestamp with time zone,
  bounced_address character varying(254) NOT NULL,
  bounce text NOT NULL,
  person_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_notification_settings_pkey PRIMARY KEY (id),
  CONSTRAINT notification_settings_once_a_person UNIQUE (person_id),
  CONSTRAINT wf_notification_settings_person_id_same_tenant FOREIGN KEY (tenant_id, person_id) REFERENCES wf_people(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_notification_settings_tenant_id_677c35a2_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
ALTER TABLE wf_notification_settings ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_notification_settings TO owner USING (true);
CREATE POLICY own_tenant ON wf_notification_settings TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_notifications (
  id uuid NOT NULL,
  kind character varying(12) NOT NULL,
  channel character varying(5) NOT NULL,
  way character varying(5) NOT NULL,
  key character varying(200) NOT NULL,
  actor_name character varying(100) NOT NULL,
  text text NOT NULL,
  status character varying(7) NOT NULL,
  due_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone NOT NULL,
  sent_at timestamp with time zone,
  message_id uuid,
  tries smallint NOT NULL,
  error text NOT NULL,
  instance_id uuid,
  person_id uuid,
  role_id uuid,
  task_id uuid,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_notifications_pkey PRIMARY KEY (id),
  CONSTRAINT notification_in_tenant UNIQUE (tenant_id, id),
  CONSTRAINT told_once UNIQUE NULLS NOT DISTINCT (key, channel, person_id, role_id),
  CONSTRAINT wf_notifications_instance_id_same_tenant FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_notifications_person_id_same_tenant FOREIGN KEY (tenant_id, person_id) REFERENCES wf_people(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_notifications_role_id_same_tenant FOREIGN KEY (tenant_id, role_id) REFERENCES wf_roles(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_notifications_task_id_same_tenant FOREIGN KEY (tenant_id, task_id) REFERENCES wf_tasks(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_notifications_tenant_id_8d330979_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT notification_channel_known CHECK (channel::text = ANY (ARRAY['mail'::character varying, 'push'::character varying, 'slack'::character varying, 'teams'::character varying]::text[])),
  CONSTRAINT notification_has_one_receiver CHECK (person_id IS NOT NULL AND role_id IS NULL OR person_id IS NULL AND role_id IS NOT NULL),
  CONSTRAINT notification_kind_known CHECK (kind::text = ANY (ARRAY['assigned'::character varying, 'offered'::character varying, 'mentioned'::character varying, 'asked'::character varying, 'answered'::character varying, 'due_soon'::character varying, 'late'::character varying, 'decided'::character varying, 'handed_over'::character varying, 'not_sent'::character varying]::text[])),
  CONSTRAINT notification_status_known CHECK (status::text = ANY (ARRAY['pending'::character varying, 'sent'::character varying, 'dropped'::character varying, 'failed'::character varying]::text[])),
  CONSTRAINT wf_notifications_tries_check CHECK (tries >= 0)
);
CREATE INDEX notifications_by_due ON wf_notifications USING btree (channel, due_at) WHERE status::text = 'pending'::text;
CREATE INDEX notifications_by_end ON wf_notifications USING btree (sent_at) WHERE NOT status::text = 'pending'::text;
CREATE INDEX notifications_by_instance ON wf_notifications USING btree (instance_id) WHERE instance_id IS NOT NULL;
CREATE INDEX notifications_by_person ON wf_notifications USING btree (person_id, channel, sent_at DESC);
CREATE INDEX notifications_by_task ON wf_notifications USING btree (task_id) WHERE task_id IS NOT NULL;
ALTER TABLE wf_notifications ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_notifications TO owner USING (true);
CREATE POLICY own_tenant ON wf_notifications TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_pending_answers (
  id uuid NOT NULL,
  batch_id uuid NOT NULL,
  outcome character varying(100) NOT NULL,
  "values" json NOT NULL,
  comment text NOT NULL,
  ticked jsonb NOT NULL,
  form_hash character varying(64) NOT NULL,
  given_at timestamp with time zone NOT NULL,
  due_at timestamp with time zone NOT NULL,
  failures smallint NOT NULL,
  refused_at timestamp with time zone,
  refusal character varying(50) NOT NULL,
  refusal_text text NOT NULL,
  person_id uuid NOT NULL,
  task_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_pending_answers_pkey PRIMARY KEY (id),
  CONSTRAINT one_pending_answer_a_task_and_person UNIQUE (task_id, person_id),
  CONSTRAINT wf_pending_answers_person_id_same_tenant FOREIGN KEY (tenant_id, person_id) REFERENCES wf_people(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_pending_answers_task_id_same_tenant FOREIGN KEY (tenant_id, task_id) REFERENCES wf_tasks(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_pending_answers_failures_check CHECK (failures >= 0)
);
CREATE INDEX pending_answers_by_due ON wf_pending_answers USING btree (due_at) WHERE refused_at IS NULL;
CREATE INDEX pending_answers_by_person ON wf_pending_answers USING btree (person_id, batch_id);
ALTER TABLE wf_pending_answers ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_pending_answers TO owner USING (true);
CREATE POLICY own_tenant ON wf_pending_answers TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_people (
  password character varying(128) NOT NULL,
  last_login timestamp with time zone,
  audit_seq bigint NOT NULL,
  audit_hash character varying(64) NOT NULL,
  id uuid NOT NULL,
  username character varying(100) NOT NULL,
  full_name character varying(200) NOT NULL,
  email character varying(254) NOT NULL,
  level smallint NOT NULL,
  is_active boolean NOT NULL,
  time_zone character varying(64) NOT NULL,
  theme character varying(5) NOT NULL,
  invited_at timestamp with time zone,
  created_at timestamp with time zone NOT NULL,
  tenant_id uuid NOT NULL,
  session_epoch integer DEFAULT 0 NOT NULL,
  single_keys boolean DEFAULT true NOT NULL,
  language character varying(10) DEFAULT ''::character varying NOT NULL,
  kind character varying(7) DEFAULT 'person'::character varying NOT NULL,
  made_by character varying(100) DEFAULT ''::character varying NOT NULL,
  same_eyes jsonb DEFAULT '[]'::jsonb NOT NULL,
  email_changed_at timestamp with time zone,
  email_changed_by character varying(100) DEFAULT ''::character varying NOT NULL,
  manager_id uuid,
  CONSTRAINT wf_people_pkey PRIMARY KEY (id),
  CONSTRAINT person_in_tenant UNIQUE (tenant_id, id),
  CONSTRAINT wf_people_username_key UNIQUE (username),
  CONSTRAINT manager_in_tenant FOREIGN KEY (tenant_id, manager_id) REFERENCES wf_people(tenant_id, id) NOT VALID,
  CONSTRAINT wf_people_tenant_id_2d03ad26_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT person_kind_known CHECK (kind::text = ANY (ARRAY['person'::character varying, 'service'::character varying]::text[])),
  CONSTRAINT person_level_1_to_6 CHECK (level >= 1 AND level <= 6),
  CONSTRAINT person_name_in_small_letters CHECK (username::text = lower(username::text)),
  CONSTRAINT wf_people_level_check CHECK (level >= 0),
  CONSTRAINT wf_people_session_epoch_check CHECK (session_epoch >= 0)
);
CREATE INDEX people_by_manager ON wf_people USING btree (manager_id) WHERE manager_id IS NOT NULL;
CREATE INDEX wf_people_username_f33c84cd_like ON wf_people USING btree (username varchar_pattern_ops);
ALTER TABLE wf_people ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_people TO owner USING (true);
CREATE POLICY own_tenant ON wf_people TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) OR id = (( SELECT NULLIF(current_setting('wf.guest'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_places (
  run bigint NOT NULL,
  key character varying(300) NOT NULL,
  most integer NOT NULL,
  asked_at timestamp with time zone NOT NULL,
  let_in_at timestamp with time zone,
  instance_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_places_pkey PRIMARY KEY (instance_id, run),
  CONSTRAINT wf_places_instance_id_same_tenant FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_places_most_check CHECK (most >= 0)
);
CREATE INDEX places_in_line ON wf_places USING btree (tenant_id, key, asked_at, instance_id, run) WHERE let_in_at IS NULL;
CREATE INDEX places_taken ON wf_places USING btree (tenant_id, key) WHERE let_in_at IS NOT NULL;
ALTER TABLE wf_places ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_places TO owner USING (true);
CREATE POLICY own_tenant ON wf_places TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_push_subscriptions (
  id uuid NOT NULL,
  endpoint character varying(2000) NOT NULL,
  public_key character varying(200) NOT NULL,
  auth character varying(100) NOT NULL,
  browser character varying(100) NOT NULL,
  created_at timestamp with time zone NOT NULL,
  person_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_push_subscriptions_pkey PRIMARY KEY (id),
  CONSTRAINT push_once_a_browser UNIQUE (person_id, endpoint),
  CONSTRAINT wf_push_subscriptions_person_id_same_tenant FOREIGN KEY (tenant_id, person_id) REFERENCES wf_people(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_push_subscriptions_tenant_id_5074d9fd_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
ALTER TABLE wf_push_subscriptions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_push_subscriptions TO owner USING (true);
CREATE POLICY own_tenant ON wf_push_subscriptions TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_rates (
  id uuid NOT NULL,
  key character varying(300) NOT NULL,
  free_at timestamp with time zone NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_rates_pkey PRIMARY KEY (id),
  CONSTRAINT rate_key_once_a_tenant UNIQUE (tenant_id, key),
  CONSTRAINT wf_rates_tenant_id_4cd44626_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
ALTER TABLE wf_rates ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_rates TO owner USING (true);
CREATE POLICY own_tenant ON wf_rates TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_retention_rules (
  id uuid NOT NULL,
  completed_for character varying(40) NOT NULL,
  cancelled_for character varying(40) NOT NULL,
  runtime_for character varying(40) NOT NULL,
  audit_for character varying(40) NOT NULL,
  template_id uuid,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_retention_rules_pkey PRIMARY KEY (id),
  CONSTRAINT one_retention_rule_a_template UNIQUE NULLS NOT DISTINCT (tenant_id, template_id),
  CONSTRAINT wf_retention_rules_template_id_same_tenant FOREIGN KEY (tenant_id, template_id) REFERENCES wf_templates(tenant_id, id),
  CONSTRAINT wf_retention_rules_tenant_id_2f0e0a71_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX wf_retention_rules_template_id_ffc27f8b ON wf_retention_rules USING btree (template_id);
ALTER TABLE wf_retention_rules ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_retention_rules TO owner USING (true);
CREATE POLICY own_tenant ON wf_retention_rules TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_retention_runs (
  id uuid NOT NULL,
  began_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone,
  asked_by character varying(100) NOT NULL,
  counts jsonb NOT NULL,
  error text NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_retention_runs_pkey PRIMARY KEY (id),
  CONSTRAINT wf_retention_runs_tenant_id_ff5920b9_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
CREATE UNIQUE INDEX one_open_retention_run_a_tenant ON wf_retention_runs USING btree (tenant_id) WHERE ended_at IS NULL;
CREATE INDEX retention_runs_by_tenant ON wf_retention_runs USING btree (tenant_id, id DESC);
ALTER TABLE wf_retention_runs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_retention_runs TO owner USING (true);
CREATE POLICY own_tenant ON wf_retention_runs TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_role_chats (
  id uuid NOT NULL,
  chat character varying(5) NOT NULL,
  address bytea NOT NULL,
  failed_at timestamp with time zone,
  failure text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  role_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  language character varying(10) DEFAULT ''::character varying NOT NULL,
  CONSTRAINT wf_role_chats_pkey PRIMARY KEY (id),
  CONSTRAINT one_chat_of_a_kind_a_role UNIQUE (role_id, chat),
  CONSTRAINT wf_role_chats_role_id_same_tenant FOREIGN KEY (tenant_id, role_id) REFERENCES wf_roles(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_role_chats_tenant_id_f781bef0_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT role_chat_known CHECK (chat::text = ANY (ARRAY['slack'::character varying, 'teams'::character varying]::text[]))
);
ALTER TABLE wf_role_chats ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_role_chats TO owner USING (true);
CREATE POLICY own_tenant ON wf_role_chats TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_roles (
  id uuid NOT NULL,
  name character varying(63) NOT NULL,
  title character varying(200) NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_roles_pkey PRIMARY KEY (id),
  CONSTRAINT role_in_tenant UNIQUE (tenant_id, id),
  CONSTRAINT role_name_once_a_tenant UNIQUE (tenant_id, name),
  CONSTRAINT wf_roles_tenant_id_e30d0589_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
ALTER TABLE wf_roles ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_roles TO owner USING (true);
CREATE POLICY own_tenant ON wf_roles TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_runtime_states (
  instance_id uuid NOT NULL,
  state_version bigint NOT NULL,
  snapshot_schema_version smallint NOT NULL,
  snapshot jsonb NOT NULL,
  runtime_provider character varying(20) NOT NULL,
  runtime_instance_id uuid,
  runtime_status character varying(10) NOT NULL,
  business_reference character varying(200),
  waiting_kind character varying(10),
  waiting_token bigint,
  waiting_until timestamp with time zone,
  active_task_id uuid,
  resume_pointer jsonb,
  last_signal_id uuid,
  last_error_code character varying(100),
  last_error_json jsonb,
  last_executed_by character varying(200),
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  completed_at timestamp with time zone,
  keep_until timestamp with time zone,
  tenant_id uuid NOT NULL,
  last_executed_on timestamp with time zone,
  purge_after timestamp with time zone,
  CONSTRAINT wf_runtime_states_pkey PRIMARY KEY (instance_id),
  CONSTRAINT wf_runtime_states_instance_id_same_tenant FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances(tenant_id, id),
  CONSTRAINT wf_runtime_states_snapshot_schema_version_check CHECK (snapshot_schema_version >= 0)
);
ALTER TABLE wf_runtime_states ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_runtime_states TO owner USING (true);
CREATE POLICY own_tenant ON wf_runtime_states TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_saved_filters (
  id uuid NOT NULL,
  owner_id uuid NOT NULL,
  owner_name character varying(100) NOT NULL,
  name character varying(60) NOT NULL,
  query text NOT NULL,
  shared boolean NOT NULL,
  created_at timestamp with time zone NOT NULL,
  deleted_at timestamp with time zone,
  tenant_id uuid NOT NULL,
  role_id uuid,
  editable boolean DEFAULT false NOT NULL,
  CONSTRAINT wf_saved_filters_pkey PRIMARY KEY (id),
  CONSTRAINT saved_filter_in_tenant UNIQUE (tenant_id, id),
  CONSTRAINT wf_saved_filters_role_id_same_tenant FOREIGN KEY (tenant_id, role_id) REFERENCES wf_roles(tenant_id, id) ON DELETE SET NULL (role_id),
  CONSTRAINT wf_saved_filters_tenant_id_942cb726_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT filter_shared_with_a_role_or_everyone CHECK (NOT shared OR role_id IS NULL)
);
CREATE UNIQUE INDEX one_filter_a_name ON wf_saved_filters USING btree (tenant_id, owner_id, name) WHERE deleted_at IS NULL;
CREATE INDEX saved_filters_by_role ON wf_saved_filters USING btree (role_id) WHERE role_id IS NOT NULL;
CREATE INDEX shared_filters_by_tenant ON wf_saved_filters USING btree (tenant_id, name) WHERE deleted_at IS NULL AND shared;
ALTER TABLE wf_saved_filters ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_saved_filters TO owner USING (true);
CREATE POLICY own_tenant ON wf_saved_filters TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_schedule_fires (
  tenant_id uuid NOT NULL,
  schedule_id uuid NOT NULL,
  slot timestamp with time zone NOT NULL,
  outcome character varying(7) NOT NULL,
  reason text NOT NULL,
  instance_id uuid,
  at timestamp with time zone NOT NULL,
  CONSTRAINT wf_schedule_fires_pkey PRIMARY KEY (schedule_id, slot),
  CONSTRAINT wf_schedule_fires_schedule_id_same_tenant FOREIGN KEY (tenant_id, schedule_id) REFERENCES wf_schedules(tenant_id, id)
);
ALTER TABLE wf_schedule_fires ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_schedule_fires TO owner USING (true);
CREATE POLICY own_tenant ON wf_schedule_fires TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_schedules (
  id uuid NOT NULL,
  status character varying(9) NOT NULL,
  declared boolean NOT NULL,
  cron character varying(200) NOT NULL,
  once_at timestamp with time zone,
  time_zone character varying(64) NOT NULL,
  dst character varying(10) NOT NULL,
  calendar character varying(63) NOT NULL,
  overlap character varying(12) NOT NULL,
  catch_up character varying(4) NOT NULL,
  "window" character varying(40) NOT NULL,
  input json NOT NULL,
  owner_id uuid,
  owner_name character varying(100) NOT NULL,
  next_at timestamp with time zone,
  look_at timestamp with time zone,
  created_at timestamp with time zone NOT NULL,
  template_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_schedules_pkey PRIMARY KEY (id),
  CONSTRAINT schedule_in_tenant UNIQUE (tenant_id, id),
  CONSTRAINT wf_schedules_template_id_same_tenant FOREIGN KEY (tenant_id, template_id) REFERENCES wf_templates(tenant_id, id),
  CONSTRAINT schedule_by_cron_or_once CHECK (cron::text = ''::text AND once_at IS NOT NULL OR NOT cron::text = ''::text AND once_at IS NULL)
);
CREATE UNIQUE INDEX one_declared_schedule ON wf_schedules USING btree (template_id) WHERE declared AND (status::text = ANY (ARRAY['active'::character varying, 'paused'::character varying]::text[]));
CREATE INDEX schedules_by_look ON wf_schedules USING btree (look_at) WHERE status::text = 'active'::text;
CREATE INDEX wf_schedules_template_id_935ecb84 ON wf_schedules USING btree (template_id);
ALTER TABLE wf_schedules ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_schedules TO owner USING (true);
CREATE POLICY own_tenant ON wf_schedules TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_secrets (
  id uuid NOT NULL,
  name character varying(63) NOT NULL,
  ciphertext bytea NOT NULL,
  changed_by_name character varying(100) NOT NULL,
  changed_at timestamp with time zone NOT NULL,
  tenant_id uuid NOT NULL,
  origins jsonb DEFAULT '[]'::jsonb NOT NULL,
  CONSTRAINT wf_secrets_pkey PRIMARY KEY (id),
  CONSTRAINT secret_name_once_a_tenant UNIQUE (tenant_id, name),
  CONSTRAINT wf_secrets_tenant_id_3a4c0b29_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
ALTER TABLE wf_secrets ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_secrets TO owner USING (true);
CREATE POLICY own_tenant ON wf_secrets TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_sign_in_tallies (
  key character varying(200) NOT NULL,
  failures integer NOT NULL,
  at timestamp with time zone NOT NULL,
  until timestamp with time zone,
  CONSTRAINT wf_sign_in_tallies_pkey PRIMARY KEY (key),
  CONSTRAINT wf_sign_in_tallies_failures_check CHECK (failures >= 0)
);
CREATE INDEX sign_in_tally_age ON wf_sign_in_tallies USING btree (at);
CREATE INDEX wf_sign_in_tallies_key_14083289_like ON wf_sign_in_tallies USING btree (key varchar_pattern_ops);

CREATE TABLE wf_signal_receipts (
  id uuid NOT NULL,
  type character varying(20) NOT NULL,
  waiting_token bigint,
  disposition character varying(10) NOT NULL,
  at timestamp with time zone NOT NULL,
  instance_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  content character varying(64),
  CONSTRAINT wf_signal_receipts_pkey PRIMARY KEY (id),
  CONSTRAINT wf_signal_receipts_instance_id_same_tenant FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances(tenant_id, id)
);
CREATE INDEX wf_signal_receipts_instance_id_55b4836a ON wf_signal_receipts USING btree (instance_id);
ALTER TABLE wf_signal_receipts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_signal_receipts TO owner USING (true);
CREATE POLICY own_tenant ON wf_signal_receipts TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_signals (
  id uuid NOT NULL,
  runtime_provider character varying(20) NOT NULL,
  type character varying(20) NOT NULL,
  expected_version bigint,
  waiting_token bigint,
  occurred_at timestamp with time zone NOT NULL,
  due_at timestamp with time zone NOT NULL,
  held_due_at timestamp with time zone,
  payload jsonb NOT NULL,
  attempts smallint NOT NULL,
  instance_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_signals_pkey PRIMARY KEY (id),
  CONSTRAINT wf_signals_instance_id_same_tenant FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances(tenant_id, id),
  CONSTRAINT wf_signals_attempts_check CHECK (attempts >= 0)
);
CREATE INDEX signals_by_due ON wf_signals USING btree (due_at);
CREATE INDEX signals_by_instance ON wf_signals USING btree (instance_id, due_at, id);
CREATE INDEX signals_by_tenant ON wf_signals USING btree (tenant_id, due_at, instance_id);
CREATE CONSTRAINT TRIGGER no_limbo_signals_out AFTER DELETE ON wf_signals DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wf_check_old_rows_instance();
ALTER TABLE wf_signals ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_signals TO owner USING (true);
CREATE POLICY own_tenant ON wf_signals TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_start_drafts (
  id uuid NOT NULL,
  owner_id uuid NOT NULL,
  number character varying(64) NOT NULL,
  "values" json NOT NULL,
  saved_at timestamp with time zone NOT NULL,
  template_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_start_drafts_pkey PRIMARY KEY (id),
  CONSTRAINT one_draft_a_start_form UNIQUE (tenant_id, owner_id, number),
  CONSTRAINT wf_start_drafts_tenant_id UNIQUE (tenant_id, id),
  CONSTRAINT wf_start_drafts_template_id_same_tenant FOREIGN KEY (tenant_id, template_id) REFERENCES wf_templates(tenant_id, id),
  CONSTRAINT wf_start_drafts_tenant_id_35f544c7_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX start_drafts_by_template ON wf_start_drafts USING btree (template_id);
ALTER TABLE wf_start_drafts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_start_drafts TO owner USING (true);
CREATE POLICY own_tenant ON wf_start_drafts TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_step_runs (
  run bigint NOT NULL,
  attempt integer NOT NULL,
  step character varying(100) NOT NULL,
  kind character varying(20) NOT NULL,
  path text NOT NULL,
  iteration text NOT NULL,
  status character varying(12) NOT NULL,
  started_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone,
  input jsonb,
  output jsonb,
  error jsonb,
  reason text,
  instance_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  parent_run bigint,
  CONSTRAINT wf_step_runs_pkey PRIMARY KEY (instance_id, run, attempt),
  CONSTRAINT wf_step_runs_instance_id_same_tenant FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances(tenant_id, id),
  CONSTRAINT wf_step_runs_tenant_id_f493f9c1_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT step_status_known CHECK (status::text = ANY (ARRAY['pending'::character varying, 'running'::character varying, 'success'::character varying, 'failed'::character varying, 'skipped'::character varying, 'retrying'::character varying, 'timed_out'::character varying, 'cancelled'::character varying, 'compensated'::character varying]::text[])),
  CONSTRAINT wf_step_runs_attempt_check CHECK (attempt >= 0)
);
ALTER TABLE wf_step_runs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_step_runs TO owner USING (true);
CREATE POLICY own_tenant ON wf_step_runs TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_task_attachments (
  id uuid NOT NULL,
  name character varying(200) NOT NULL,
  content_type character varying(100) NOT NULL,
  size bigint NOT NULL,
  sha256 character varying(64) NOT NULL,
  added_by_id uuid,
  added_by_name character varying(100) NOT NULL,
  added_at timestamp with time zone NOT NULL,
  instance_id uuid NOT NULL,
  task_id uuid,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_task_attachments_pkey PRIMARY KEY (id),
  CONSTRAINT wf_task_attachments_instance_id_same_tenant FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances(tenant_id, id),
  CONSTRAINT wf_task_attachments_task_id_same_tenant FOREIGN KEY (tenant_id, task_id) REFERENCES wf_tasks(tenant_id, id),
  CONSTRAINT wf_task_attachments_size_check CHECK (size >= 0)
);
CREATE INDEX task_attachments_by_task ON wf_task_attachments USING btree (task_id, id);
CREATE INDEX wf_task_attachments_instance_id_3274dfc1 ON wf_task_attachments USING btree (instance_id);
ALTER TABLE wf_task_attachments ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_task_attachments TO owner USING (true);
CREATE POLICY own_tenant ON wf_task_attachments TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_task_candidates (
  principal uuid NOT NULL,
  rank smallint NOT NULL,
  due_at timestamp with time zone NOT NULL,
  task_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_task_candidates_pkey PRIMARY KEY (principal, rank, due_at, task_id),
  CONSTRAINT wf_task_candidates_task_id_same_tenant FOREIGN KEY (tenant_id, task_id) REFERENCES wf_tasks(tenant_id, id)
);
CREATE INDEX candidates_by_task ON wf_task_candidates USING btree (task_id);
ALTER TABLE wf_task_candidates ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_task_candidates TO owner USING (true);
CREATE POLICY own_tenant ON wf_task_candidates TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_task_comments (
  id uuid NOT NULL,
  text text NOT NULL,
  author_id uuid,
  author_name character varying(100) NOT NULL,
  at timestamp with time zone NOT NULL,
  instance_id uuid NOT NULL,
  task_id uuid,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_task_comments_pkey PRIMARY KEY (id),
  CONSTRAINT wf_task_comments_instance_id_same_tenant FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances(tenant_id, id),
  CONSTRAINT wf_task_comments_task_id_same_tenant FOREIGN KEY (tenant_id, task_id) REFERENCES wf_tasks(tenant_id, id)
);
CREATE INDEX task_comments_by_task ON wf_task_comments USING btree (task_id, id);
CREATE INDEX wf_task_comments_instance_id_6c63cf66 ON wf_task_comments USING btree (instance_id);
ALTER TABLE wf_task_comments ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_task_comments TO owner USING (true);
CREATE POLICY own_tenant ON wf_task_comments TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_task_drafts (
  id uuid NOT NULL,
  owner_id uuid,
  "values" json NOT NULL,
  outcome character varying(100) NOT NULL,
  comment text NOT NULL,
  saved_by_name character varying(100) NOT NULL,
  saved_at timestamp with time zone NOT NULL,
  task_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_task_drafts_pkey PRIMARY KEY (id),
  CONSTRAINT one_draft_a_task UNIQUE NULLS NOT DISTINCT (task_id, owner_id),
  CONSTRAINT wf_task_drafts_task_id_same_tenant FOREIGN KEY (tenant_id, task_id) REFERENCES wf_tasks(tenant_id, id)
);
ALTER TABLE wf_task_drafts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_task_drafts TO owner USING (true);
CREATE POLICY own_tenant ON wf_task_drafts TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_task_events (
  id uuid NOT NULL,
  kind character varying(12) NOT NULL,
  at timestamp with time zone NOT NULL,
  actor_id uuid,
  actor_name character varying(100) NOT NULL,
  actor_level smallint NOT NULL,
  cause text NOT NULL,
  old jsonb,
  new jsonb,
  instance_id uuid NOT NULL,
  task_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_task_events_pkey PRIMARY KEY (id),
  CONSTRAINT wf_task_events_task_id_same_tenant FOREIGN KEY (tenant_id, task_id) REFERENCES wf_tasks(tenant_id, id),
  CONSTRAINT wf_task_events_actor_level_check CHECK (actor_level >= 0)
);
CREATE INDEX task_events_by_task ON wf_task_events USING btree (task_id, id);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON wf_task_events FOR EACH ROW WHEN (COALESCE(current_setting('workflow.redacting'::text, true), ''::text) <> 'on'::text) EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON wf_task_events FOR EACH STATEMENT EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER only_redacted BEFORE DELETE OR UPDATE ON wf_task_events FOR EACH ROW WHEN (current_setting('workflow.redacting'::text, true) = 'on'::text) EXECUTE FUNCTION wf_only_redacted();
ALTER TABLE wf_task_events ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_task_events TO owner USING (true);
CREATE POLICY own_tenant ON wf_task_events TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_task_links (
  id uuid NOT NULL,
  form_hash character varying(64) NOT NULL,
  created_at timestamp with time zone NOT NULL,
  used_at timestamp with time zone,
  person_id uuid NOT NULL,
  task_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_task_links_pkey PRIMARY KEY (id),
  CONSTRAINT one_link_a_task_and_person UNIQUE (task_id, person_id),
  CONSTRAINT wf_task_links_person_id_same_tenant FOREIGN KEY (tenant_id, person_id) REFERENCES wf_people(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_task_links_task_id_same_tenant FOREIGN KEY (tenant_id, task_id) REFERENCES wf_tasks(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_task_links_tenant_id_ae267f84_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
ALTER TABLE wf_task_links ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_task_links TO owner USING (true);
CREATE POLICY own_tenant ON wf_task_links TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_task_questions (
  id uuid NOT NULL,
  text text NOT NULL,
  asked_by_id uuid,
  asked_by_name character varying(100) NOT NULL,
  asked_of_id uuid NOT NULL,
  asked_of_name character varying(100) NOT NULL,
  asked_at timestamp with time zone NOT NULL,
  opened_at timestamp with time zone,
  answer text NOT NULL,
  answered_by_name character varying(100) NOT NULL,
  ended_at timestamp with time zone,
  instance_id uuid NOT NULL,
  task_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_task_questions_pkey PRIMARY KEY (id),
  CONSTRAINT question_instance_in_tenant FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT question_task_in_tenant FOREIGN KEY (tenant_id, task_id) REFERENCES wf_tasks(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT wf_task_questions_tenant_id_a1c7c01f_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED
);
CREATE UNIQUE INDEX one_open_question_a_task ON wf_task_questions USING btree (task_id) WHERE ended_at IS NULL;
CREATE INDEX open_questions_by_person ON wf_task_questions USING btree (asked_of_id, id) WHERE ended_at IS NULL;
CREATE INDEX questions_by_instance ON wf_task_questions USING btree (instance_id);
ALTER TABLE wf_task_questions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_task_questions TO owner USING (true);
CREATE POLICY own_tenant ON wf_task_questions TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_tasks (
  id uuid NOT NULL,
  token bigint NOT NULL,
  step character varying(100) NOT NULL,
  path text NOT NULL,
  iteration text NOT NULL,
  status character varying(10) NOT NULL,
  name character varying(100) NOT NULL,
  type character varying(100) NOT NULL,
  route character varying(200) NOT NULL,
  title text NOT NULL,
  description text NOT NULL,
  instructions text NOT NULL,
  payload json NOT NULL,
  form json NOT NULL,
  outcomes json NOT NULL,
  columns json NOT NULL,
  comment_rule character varying(10) NOT NULL,
  effective_roles jsonb NOT NULL,
  users jsonb NOT NULL,
  min_level smallint NOT NULL,
  excluded jsonb NOT NULL,
  extra jsonb NOT NULL,
  owner character varying(100) NOT NULL,
  business_reference character varying(200),
  priority smallint NOT NULL,
  due_at timestamp with time zone,
  follow_up_at timestamp with time zone,
  created_at timestamp with time zone NOT NULL,
  claimed_at timestamp with time zone,
  completed_at timestamp with time zone,
  completed_by_id uuid,
  completed_by_name character varying(100) NOT NULL,
  outcome character varying(100),
  answer jsonb,
  comment text NOT NULL,
  assignee_id uuid,
  instance_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  version_id uuid NOT NULL,
  answered_by jsonb DEFAULT '[]'::jsonb NOT NULL,
  familiar jsonb DEFAULT '[]'::jsonb NOT NULL,
  ticked jsonb DEFAULT '[]'::jsonb NOT NULL,
  sla_at timestamp with time zone,
  completed_for_name character varying(100) DEFAULT ''::character varying NOT NULL,
  delegated_by_id uuid,
  delegated_by_name character varying(100) DEFAULT ''::character varying NOT NULL,
  prepared_by jsonb DEFAULT '[]'::jsonb NOT NULL,
  waiting_for_name character varying(100) DEFAULT ''::character varying NOT NULL,
  waiting_since timestamp with time zone,
  answer_due_at timestamp with time zone,
  answer_by_name character varying(100) DEFAULT ''::character varying NOT NULL,
  CONSTRAINT wf_tasks_pkey PRIMARY KEY (id),
  CONSTRAINT one_task_a_wait UNIQUE (instance_id, token),
  CONSTRAINT task_in_tenant UNIQUE (tenant_id, id),
  CONSTRAINT wf_tasks_assignee_id_same_tenant FOREIGN KEY (tenant_id, assignee_id) REFERENCES wf_people(tenant_id, id),
  CONSTRAINT wf_tasks_instance_id_same_tenant FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances(tenant_id, id),
  CONSTRAINT claimed_task_has_assignee CHECK (NOT status::text = 'claimed'::text OR assignee_id IS NOT NULL),
  CONSTRAINT task_status_known CHECK (status::text = ANY (ARRAY['open'::character varying, 'claimed'::character varying, 'suspended'::character varying, 'completed'::character varying, 'skipped'::character varying, 'cancelled'::character varying, 'expired'::character varying]::text[])),
  CONSTRAINT wf_tasks_min_level_check CHECK (min_level >= 0),
  CONSTRAINT wf_tasks_priority_check CHECK (priority >= 0)
);
CREATE INDEX open_tasks_by_due ON wf_tasks USING btree (tenant_id, due_at) WHERE assignee_id IS NOT NULL AND due_at IS NOT NULL AND (status::text = ANY (ARRAY['open'::character varying, 'claimed'::character varying, 'suspended'::character varying]::text[]));
CREATE INDEX open_tasks_by_tenant ON wf_tasks USING btree (tenant_id, priority DESC, due_at, id) WHERE status::text = ANY (ARRAY['open'::character varying, 'claimed'::character varying, 'suspended'::character varying]::text[]);
CREATE INDEX open_tasks_of_assignee ON wf_tasks USING btree (assignee_id, priority DESC, due_at, id) WHERE assignee_id IS NOT NULL AND (status::text = ANY (ARRAY['open'::character varying, 'claimed'::character varying, 'suspended'::character varying]::text[]));
CREATE INDEX tasks_by_answerer ON wf_tasks USING gin (answered_by) WHERE NOT answered_by = '[]'::jsonb;
CREATE INDEX tasks_of_completer ON wf_tasks USING btree (completed_by_id, completed_at DESC) WHERE completed_by_id IS NOT NULL;
CREATE TRIGGER legal_move BEFORE UPDATE OF status ON wf_tasks FOR EACH ROW WHEN (old.status::text IS DISTINCT FROM new.status::text) EXECUTE FUNCTION wf_check_move('task');
CREATE CONSTRAINT TRIGGER no_limbo_tasks AFTER UPDATE OF status ON wf_tasks DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.status::text = ANY (ARRAY['open'::character varying, 'claimed'::character varying, 'suspended'::character varying]::text[])) AND (old.status::text <> ALL (ARRAY['open'::character varying, 'claimed'::character varying, 'suspended'::character varying]::text[]))) EXECUTE FUNCTION wf_check_new_rows_instance();
CREATE CONSTRAINT TRIGGER no_limbo_tasks_new AFTER INSERT ON wf_tasks DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.status::text = ANY (ARRAY['open'::character varying, 'claimed'::character varying, 'suspended'::character varying]::text[])) EXECUTE FUNCTION wf_check_new_rows_instance();
CREATE CONSTRAINT TRIGGER task_of_its_version AFTER UPDATE OF version_id, instance_id ON wf_tasks DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.version_id <> new.version_id OR old.instance_id <> new.instance_id) EXECUTE FUNCTION wf_check_new_rows_instance();
ALTER TABLE wf_tasks ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_tasks TO owner USING (true);
CREATE POLICY own_tenant ON wf_tasks TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_template_versions (
  id uuid NOT NULL,
  number integer NOT NULL,
  status character varying(10) NOT NULL,
  source text NOT NULL,
  canonical json,
  sha256 character varying(64) NOT NULL,
  findings jsonb NOT NULL,
  revision integer NOT NULL,
  created_by_name character varying(100) NOT NULL,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  activated_by_name character varying(100) NOT NULL,
  activated_at timestamp with time zone,
  archived_at timestamp with time zone,
  template_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  event_name character varying(200) NOT NULL,
  unavailable text DEFAULT ''::text NOT NULL,
  CONSTRAINT wf_template_versions_pkey PRIMARY KEY (id),
  CONSTRAINT version_in_tenant UNIQUE (tenant_id, id),
  CONSTRAINT version_number_once_a_template UNIQUE (template_id, number),
  CONSTRAINT wf_template_versions_template_id_same_tenant FOREIGN KEY (tenant_id, template_id) REFERENCES wf_templates(tenant_id, id),
  CONSTRAINT version_status_known CHECK (status::text = ANY (ARRAY['draft'::character varying, 'active'::character varying, 'paused'::character varying, 'archived'::character varying]::text[])),
  CONSTRAINT wf_template_versions_number_check CHECK (number >= 0),
  CONSTRAINT wf_template_versions_revision_check CHECK (revision >= 0)
);
CREATE UNIQUE INDEX one_version_in_force ON wf_template_versions USING btree (template_id) WHERE status::text = ANY (ARRAY['active'::character varying, 'paused'::character varying]::text[]);
CREATE TRIGGER frozen_definition BEFORE UPDATE ON wf_template_versions FOR EACH ROW WHEN (old.status::text <> 'draft'::text AND (old.source IS DISTINCT FROM new.source OR old.canonical::text IS DISTINCT FROM new.canonical::text OR old.sha256::text IS DISTINCT FROM new.sha256::text OR old.number IS DISTINCT FROM new.number OR old.template_id IS DISTINCT FROM new.template_id)) EXECUTE FUNCTION wf_keep_definition();
CREATE TRIGGER frozen_definition_row BEFORE DELETE ON wf_template_versions FOR EACH ROW WHEN (old.status::text <> 'draft'::text) EXECUTE FUNCTION wf_keep_definition();
CREATE TRIGGER legal_move BEFORE UPDATE OF status ON wf_template_versions FOR EACH ROW WHEN (old.status::text IS DISTINCT FROM new.status::text) EXECUTE FUNCTION wf_check_move('version');
ALTER TABLE wf_template_versions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_template_versions TO owner USING (true);
CREATE POLICY own_tenant ON wf_template_versions TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_templates (
  audit_seq bigint NOT NULL,
  audit_hash character varying(64) NOT NULL,
  id uuid NOT NULL,
  name character varying(100) NOT NULL,
  title character varying(200) NOT NULL,
  description text NOT NULL,
  tags jsonb NOT NULL,
  created_at timestamp with time zone NOT NULL,
  tenant_id uuid NOT NULL,
  concurrent_limit integer,
  CONSTRAINT wf_templates_pkey PRIMARY KEY (id),
  CONSTRAINT template_in_tenant UNIQUE (tenant_id, id),
  CONSTRAINT template_name_once_a_tenant UNIQUE (tenant_id, name),
  CONSTRAINT wf_templates_tenant_id_f8298315_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT wf_templates_concurrent_limit_check CHECK (concurrent_limit >= 0)
);
CREATE INDEX wf_templates_name_6ed09f28 ON wf_templates USING btree (name);
CREATE INDEX wf_templates_name_6ed09f28_like ON wf_templates USING btree (name varchar_pattern_ops);
ALTER TABLE wf_templates ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_templates TO owner USING (true);
CREATE POLICY own_tenant ON wf_templates TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_tenants (
  audit_seq bigint NOT NULL,
  audit_hash character varying(64) NOT NULL,
  id uuid NOT NULL,
  name character varying(63) NOT NULL,
  title character varying(200) NOT NULL,
  concurrent_limit integer,
  http_allow jsonb,
  created_at timestamp with time zone NOT NULL,
  undo_seconds smallint,
  CONSTRAINT wf_tenants_pkey PRIMARY KEY (id),
  CONSTRAINT wf_tenants_name_key UNIQUE (name),
  CONSTRAINT wf_tenants_concurrent_limit_check CHECK (concurrent_limit >= 0),
  CONSTRAINT wf_tenants_undo_seconds_check CHECK (undo_seconds >= 0)
);
CREATE INDEX wf_tenants_name_620efbc2_like ON wf_tenants USING btree (name varchar_pattern_ops);
ALTER TABLE wf_tenants ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_tenants TO owner USING (true);
CREATE POLICY own_tenant ON wf_tenants TO PUBLIC USING ( CASE WHEN id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_tokens (
  digest character varying(128) NOT NULL,
  token_key character varying(25) NOT NULL,
  created timestamp with time zone NOT NULL,
  expiry timestamp with time zone,
  name character varying(100) NOT NULL,
  scopes jsonb NOT NULL,
  last_used_at timestamp with time zone,
  tenant_id uuid NOT NULL,
  user_id uuid NOT NULL,
  made_by character varying(100) DEFAULT ''::character varying NOT NULL,
  used_from jsonb DEFAULT '[]'::jsonb NOT NULL,
  CONSTRAINT wf_tokens_pkey PRIMARY KEY (digest),
  CONSTRAINT wf_tokens_tenant_id_35d40bd7_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT wf_tokens_user_id_154e3e2a_fk_wf_people_id FOREIGN KEY (user_id) REFERENCES wf_people(id) DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX wf_tokens_digest_26f1c380_like ON wf_tokens USING btree (digest varchar_pattern_ops);
CREATE INDEX wf_tokens_tenant_id_35d40bd7 ON wf_tokens USING btree (tenant_id);
CREATE INDEX wf_tokens_token_key_3b754a0d ON wf_tokens USING btree (token_key);
CREATE INDEX wf_tokens_token_key_3b754a0d_like ON wf_tokens USING btree (token_key varchar_pattern_ops);
CREATE INDEX wf_tokens_user_id_154e3e2a ON wf_tokens USING btree (user_id);
ALTER TABLE wf_tokens ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_tokens TO owner USING (true);
CREATE POLICY own_tenant ON wf_tokens TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_turns (
  id uuid NOT NULL,
  step character varying(100) NOT NULL,
  person_name character varying(100) NOT NULL,
  template_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_turns_pkey PRIMARY KEY (id),
  CONSTRAINT one_turn_a_step UNIQUE (template_id, step),
  CONSTRAINT wf_turns_template_id_same_tenant FOREIGN KEY (tenant_id, template_id) REFERENCES wf_templates(tenant_id, id)
);
ALTER TABLE wf_turns ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_turns TO owner USING (true);
CREATE POLICY own_tenant ON wf_turns TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_waits (
  token bigint NOT NULL,
  kind character varying(10) NOT NULL,
  step character varying(100) NOT NULL,
  path text NOT NULL,
  iteration text NOT NULL,
  run bigint NOT NULL,
  due_at timestamp with time zone,
  name character varying(200),
  key character varying(200),
  side boolean NOT NULL,
  opened_at timestamp with time zone NOT NULL,
  instance_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_waits_pkey PRIMARY KEY (instance_id, token),
  CONSTRAINT wf_waits_instance_id_same_tenant FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances(tenant_id, id)
);
CREATE INDEX waits_of_name_and_key ON wf_waits USING btree (tenant_id, name, key) WHERE name IS NOT NULL;
CREATE CONSTRAINT TRIGGER no_limbo_waits_in AFTER INSERT ON wf_waits DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wf_check_new_rows_instance();
CREATE CONSTRAINT TRIGGER no_limbo_waits_out AFTER DELETE ON wf_waits DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NOT old.side) EXECUTE FUNCTION wf_check_old_rows_instance();
ALTER TABLE wf_waits ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_waits TO owner USING (true);
CREATE POLICY own_tenant ON wf_waits TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_webhook_deliveries (
  id uuid NOT NULL,
  event character varying(40) NOT NULL,
  audit_id bigint,
  instance_id uuid,
  body text NOT NULL,
  status character varying(9) NOT NULL,
  attempts integer NOT NULL,
  tries smallint NOT NULL,
  due_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone,
  tenant_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  CONSTRAINT wf_webhook_deliveries_pkey PRIMARY KEY (id),
  CONSTRAINT act_told_once_a_webhook UNIQUE (webhook_id, audit_id),
  CONSTRAINT delivery_in_tenant UNIQUE (tenant_id, id),
  CONSTRAINT wf_webhook_deliveries_webhook_id_same_tenant FOREIGN KEY (tenant_id, webhook_id) REFERENCES wf_webhooks(tenant_id, id) ON DELETE CASCADE,
  CONSTRAINT delivery_status_known CHECK (status::text = ANY (ARRAY['pending'::character varying, 'delivered'::character varying, 'failed'::character varying]::text[])),
  CONSTRAINT wf_webhook_deliveries_attempts_check CHECK (attempts >= 0),
  CONSTRAINT wf_webhook_deliveries_tries_check CHECK (tries >= 0)
);
CREATE INDEX deliveries_by_due ON wf_webhook_deliveries USING btree (due_at) WHERE status::text = 'pending'::text;
CREATE INDEX deliveries_by_instance ON wf_webhook_deliveries USING btree (instance_id) WHERE instance_id IS NOT NULL;
CREATE INDEX deliveries_by_webhook ON wf_webhook_deliveries USING btree (webhook_id, status, id DESC);
ALTER TABLE wf_webhook_deliveries ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_webhook_deliveries TO owner USING (true);
CREATE POLICY own_tenant ON wf_webhook_deliveries TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

CREATE TABLE wf_webhooks (
  id uuid NOT NULL,
  title character varying(200) NOT NULL,
  url character varying(2000) NOT NULL,
  events jsonb NOT NULL,
  templates jsonb NOT NULL,
  status character varying(8) NOT NULL,
  reason text NOT NULL,
  owner_id uuid,
  owner_name character varying(100) NOT NULL,
  secret bytea NOT NULL,
  old_secret bytea,
  old_secret_until timestamp with time zone,
  after_xid bigint NOT NULL,
  after_id bigint NOT NULL,
  failures integer NOT NULL,
  failing_since timestamp with time zone,
  delivered_at timestamp with time zone,
  created_at timestamp with time zone NOT NULL,
  changed_at timestamp with time zone NOT NULL,
  tenant_id uuid NOT NULL,
  CONSTRAINT wf_webhooks_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_in_tenant UNIQUE (tenant_id, id),
  CONSTRAINT wf_webhooks_tenant_id_cde75213_fk_wf_tenants_id FOREIGN KEY (tenant_id) REFERENCES wf_tenants(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT webhook_status_known CHECK (status::text = ANY (ARRAY['active'::character varying, 'paused'::character varying, 'disabled'::character varying]::text[])),
  CONSTRAINT wf_webhooks_failures_check CHECK (failures >= 0)
);
ALTER TABLE wf_webhooks ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON wf_webhooks TO owner USING (true);
CREATE POLICY own_tenant ON wf_webhooks TO PUBLIC USING ( CASE WHEN tenant_id = (( SELECT NULLIF(current_setting('wf.tenant'::text, true), ''::text)::uuid AS "nullif")) THEN true ELSE NULL::boolean END IS NOT NULL);

-- Views

CREATE VIEW wf_audit_acts WITH (security_invoker=true) AS
 SELECT r.id + a.nth - 1 AS id,
    r.id AS row_id,
    r.tenant_id,
    r.subject_kind,
    r.subject_id,
    r.seq + a.nth - 1 AS seq,
    r.at,
    r.actor_id,
    r.actor_name,
    r.actor_level,
        CASE
            WHEN r.acts IS NULL THEN r.action::text
            ELSE a.action
        END AS action,
        CASE
            WHEN r.acts IS NULL THEN r.step::text
            ELSE a.step
        END AS step,
        CASE
            WHEN r.acts IS NULL THEN r.iteration
            ELSE COALESCE(a.iteration,
            CASE
                WHEN a.run IS NOT NULL THEN ''::text
                ELSE NULL::text
            END)
        END AS iteration,
        CASE
            WHEN r.acts IS NULL THEN r.attempt
            ELSE COALESCE(a.attempt,
            CASE
                WHEN a.run IS NOT NULL THEN 1
                ELSE NULL::integer
            END)
        END AS attempt,
        CASE
            WHEN r.acts IS NULL THEN r.cause
            ELSE COALESCE(a.cause, ''::text)
        END AS cause,
        CASE
            WHEN r.acts IS NULL THEN r.old
            WHEN a.action = 'complete_step'::text AND a.old IS NULL AND a.new IS NOT NULL THEN ( SELECT jsonb_object_agg(set.set, NULL::unknown) AS jsonb_object_agg
               FROM jsonb_object_keys(a.new) set(set))
            ELSE a.old
        END AS old,
        CASE
            WHEN r.acts IS NULL THEN r.new
            ELSE a.new
        END AS new,
    r.hash,
    r.xid,
    a.run
   FROM wf_audit r
     CROSS JOIN LATERAL ( SELECT t.nth,
                CASE
                    WHEN t.begins THEN 'execute_step'::text
                    ELSE t.action
                END AS action,
            t.cause,
            t.old,
            t.new,
                CASE
                    WHEN t.begins THEN t.next_step
                    ELSE t.step
                END AS step,
                CASE
                    WHEN t.begins THEN t.next_iteration
                    ELSE t.iteration
                END AS iteration,
                CASE
                    WHEN t.begins THEN t.next_attempt
                    ELSE t.attempt
                END AS attempt,
                CASE
                    WHEN t.begins THEN jsonb_strip_nulls(jsonb_build_object('n', t.next_run -> 'n'::text, 'kind', t.next_run -> 'kind'::text, 'path', t.next_run -> 'path'::text, 'parent', t.next_run -> 'parent'::text))
                    ELSE t.run
                END AS run
           FROM ( SELECT o.action,
                    o.step,
                    o.iteration,
                    o.attempt,
                    o.cause,
                    o.old,
                    o.new,
                    o.run,
                    o.nth,
                    r.acts IS NOT NULL AND o.action IS NULL AS begins,
                    lead(o.step) OVER w AS next_step,
                    lead(o.iteration) OVER w AS next_iteration,
                    lead(o.attempt) OVER w AS next_attempt,
                    lead(o.run) OVER w AS next_run
                   FROM ROWS FROM(json_to_recordset(COALESCE(r.acts, '[{}]'::json)) AS (action text, step text, iteration text, attempt integer, cause text, old jsonb, new jsonb, run jsonb)) WITH ORDINALITY o(action, step, iteration, attempt, cause, old, new, run, nth)
                  WINDOW w AS (ORDER BY o.nth)) t) a
  WHERE
        CASE
            WHEN r.acts IS NULL THEN r.action::text
            ELSE a.action
        END <> ''::text;

CREATE VIEW wf_steps WITH (security_invoker=true) AS
 WITH told AS (
         SELECT s.subject_id AS instance_id,
            s.tenant_id,
            (s.run ->> 'n'::text)::bigint AS run,
            s.attempt,
            s.seq,
            s.step,
            s.run ->> 'kind'::text AS kind,
                CASE
                    WHEN s.run ? 'kind'::text THEN COALESCE(s.run ->> 'path'::text, s.step)
                    ELSE s.run ->> 'path'::text
                END AS path,
            s.iteration,
            names.status,
            COALESCE((s.run ->> 'at'::text)::timestamp with time zone, s.at) AS at,
            s.run -> 'input'::text AS input,
            s.run -> 'output'::text AS output,
            s.run -> 'error'::text AS error,
            s.run ->> 'reason'::text AS reason,
            (s.run ->> 'parent'::text)::bigint AS parent_run,
            NULL::timestamp with time zone AS ended_at
           FROM wf_audit_acts s
             JOIN ( VALUES ('hold_step'::text,'pending'::text), ('execute_step'::text,'running'::text), ('complete_step'::text,'success'::text), ('fail_step'::text,'failed'::text), ('skip_step'::text,'skipped'::text), ('retry_step'::text,'retrying'::text), ('expire_step'::text,'timed_out'::text), ('cancel_step'::text,'cancelled'::text), ('compensate_step'::text,'compensated'::text)) names(action, status) ON names.action = s.action
          WHERE s.run IS NOT NULL
        UNION ALL
         SELECT wf_step_runs.instance_id,
            wf_step_runs.tenant_id,
            wf_step_runs.run,
            wf_step_runs.attempt,
            0,
            wf_step_runs.step,
            wf_step_runs.kind,
            wf_step_runs.path,
            wf_step_runs.iteration,
            wf_step_runs.status,
            wf_step_runs.started_at,
            wf_step_runs.input,
            wf_step_runs.output,
            wf_step_runs.error,
            wf_step_runs.reason,
            wf_step_runs.parent_run,
            wf_step_runs.ended_at
           FROM wf_step_runs
        ), ordered AS (
         SELECT told.instance_id,
            told.tenant_id,
            told.run,
            told.attempt,
            told.seq,
            told.step,
            told.kind,
            told.path,
            told.iteration,
            told.status,
            told.at,
            told.input,
            told.output,
            told.error,
            told.reason,
            told.parent_run,
            told.ended_at,
            lag(told.status) OVER (PARTITION BY told.instance_id, told.tenant_id, told.run, told.attempt ORDER BY told.seq) AS before
           FROM told
        )
 SELECT instance_id,
    tenant_id,
    run,
    attempt,
    min(step) AS step,
    min(kind) AS kind,
    min(path) AS path,
    min(iteration) AS iteration,
    (array_agg(status ORDER BY seq DESC))[1] AS status,
    COALESCE(max(at) FILTER (WHERE before = 'retrying'::text AND (status = ANY (ARRAY['running'::text, 'success'::text, 'failed'::text]))), (array_agg(at ORDER BY seq))[1]) AS started_at,
    (array_agg(
        CASE
            WHEN seq = 0 THEN ended_at
            WHEN status = ANY (ARRAY['success'::text, 'failed'::text, 'skipped'::text, 'timed_out'::text, 'cancelled'::text, 'compensated'::text]) THEN at
            ELSE NULL::timestamp with time zone
        END ORDER BY seq DESC))[1] AS ended_at,
    (array_agg(input ORDER BY seq DESC) FILTER (WHERE input IS NOT NULL))[1] AS input,
    (array_agg(output ORDER BY seq DESC))[1] AS output,
    (array_agg(error ORDER BY seq DESC))[1] AS error,
    (array_agg(reason ORDER BY seq DESC) FILTER (WHERE reason IS NOT NULL))[1] AS reason,
    min(parent_run) AS parent_run
   FROM ordered
  GROUP BY instance_id, tenant_id, run, attempt;
