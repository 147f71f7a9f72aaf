"""Build the indexes that the audit and the events of tasks need as partitions, while everybody goes on writing."""

from django.db import migrations

CHAIN = """
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS wf_audit_before_chain ON wf_audit (subject_id, seq, subject_kind);
"""
NUMBER = "CREATE INDEX CONCURRENTLY IF NOT EXISTS wf_audit_before_by_number ON wf_audit (id);"
EVENTS = "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS wf_task_events_before_key ON wf_task_events (task_id, id);"


class Migration(migrations.Migration):
    atomic = False

    dependencies = (("engine", "0120_paused_clock"),)

    operations = (
        migrations.RunSQL(CHAIN, "DROP INDEX CONCURRENTLY IF EXISTS wf_audit_before_chain"),
        migrations.RunSQL(NUMBER, "DROP INDEX CONCURRENTLY IF EXISTS wf_audit_before_by_number"),
        migrations.RunSQL(EVENTS, "DROP INDEX CONCURRENTLY IF EXISTS wf_task_events_before_key"),
    )
