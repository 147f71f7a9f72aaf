"""Let the database refuse schedules and fires that join two tenants."""

from django.db import migrations

KEYS = (
    ("wf_schedules", "template_id", "wf_templates"),
    ("wf_schedule_fires", "schedule_id", "wf_schedules"),
)

CREATE = """
ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_same_tenant
  FOREIGN KEY (tenant_id, {column}) REFERENCES {target} (tenant_id, id);
"""
DROP = "ALTER TABLE {table} DROP CONSTRAINT {table}_{column}_same_tenant;"


def sql(form: str) -> str:
    return "".join(form.format(table=table, column=column, target=target) for table, column, target in KEYS)


class Migration(migrations.Migration):
    dependencies = [("engine", "0006_schedules_and_setup")]
    operations = [migrations.RunSQL(sql(CREATE), sql(DROP))]
