"""Let the database refuse a membership that joins two tenants."""

from django.db import migrations

KEYS = (
    ("wf_memberships", "user_id", "wf_people", "CASCADE"),
    ("wf_memberships", "role_id", "wf_roles", "CASCADE"),
)

CREATE = """
ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_same_tenant
  FOREIGN KEY (tenant_id, {column}) REFERENCES {target} (tenant_id, id) ON DELETE {on_delete};
"""
DROP = "ALTER TABLE {table} DROP CONSTRAINT {table}_{column}_same_tenant;"


def sql(form: str) -> str:
    return "".join(form.format(table=t, column=c, target=target, on_delete=d) for t, c, target, d in KEYS)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_people_and_tenants")]
    operations = [migrations.RunSQL(sql(CREATE), sql(DROP))]
