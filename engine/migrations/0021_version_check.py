"""Let the database itself refuse a slice that was computed from an older version than it finds."""

from django.db import migrations

CREATE = """
CREATE FUNCTION wf_require_moved(wanted bigint, moved bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF moved <> wanted THEN
    RAISE EXCEPTION '% of % instances were moved by another slice meanwhile', wanted - moved, wanted
      USING ERRCODE = 'serialization_failure', CONSTRAINT = 'runtime_version';
  END IF;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("engine", "0020_held_references")]
    operations = [migrations.RunSQL(CREATE, "DROP FUNCTION wf_require_moved;")]
