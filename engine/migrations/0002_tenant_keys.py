"""Let the database refuse rows of two tenants joined: every reference carries its tenant along."""

from django.db import migrations

KEYS = (
    ("wf_template_versions", "template_id", "wf_templates"),
    ("wf_instances", "template_id", "wf_templates"),
    ("wf_instances", "version_id", "wf_template_versions"),
    ("wf_instances", "parent_id", "wf_instances"),
    ("wf_runtime_states", "instance_id", "wf_instances"),
    ("wf_waits", "instance_id", "wf_instances"),
    ("wf_step_runs", "instance_id", "wf_instances"),
    ("wf_tasks", "instance_id", "wf_instances"),
    ("wf_tasks", "version_id", "wf_template_versions"),
    ("wf_tasks", "assignee_id", "wf_people"),
    ("wf_task_candidates", "task_id", "wf_tasks"),
    ("wf_task_events", "instance_id", "wf_instances"),
    ("wf_task_events", "task_id", "wf_tasks"),
    ("wf_signals", "instance_id", "wf_instances"),
    ("wf_signal_receipts", "instance_id", "wf_instances"),
    ("wf_dead_letters", "instance_id", "wf_instances"),
    ("wf_effects", "instance_id", "wf_instances"),
)

CREATE = """
ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_same_tenant
  FOREIGN KEY (tenant_id, {column}) REFERENCES {target} (tenant_id, id);
"""
DROP = "ALTER TABLE {table} DROP CONSTRAINT {table}_{column}_same_tenant;"


def sql(form: str) -> str:
    return "".join(form.format(table=table, column=column, target=target) for table, column, target in KEYS)


class Migration(migrations.Migration):
    dependencies = [("engine", "0001_tables"), ("accounts", "0002_tenant_keys")]
    operations = [migrations.RunSQL(sql(CREATE), sql(DROP))]
