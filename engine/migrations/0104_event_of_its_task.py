"""Let an event of a task be its task's alone: nobody reads events by instance, and they go with their tasks.

The key to the instance needed an index that each event wrote.
"""

import django.db.models.deletion
from django.db import migrations, models

KEY = """
ALTER TABLE wf_task_events ADD CONSTRAINT wf_task_events_instance_id_same_tenant
  FOREIGN KEY (tenant_id, instance_id) REFERENCES wf_instances (tenant_id, id);
CREATE INDEX IF NOT EXISTS wf_task_events_instance_id_be46f1e6 ON wf_task_events (instance_id);
"""
NO_KEY = """
ALTER TABLE wf_task_events DROP CONSTRAINT wf_task_events_instance_id_same_tenant;
DROP INDEX IF EXISTS wf_task_events_instance_id_be46f1e6;
"""


class Migration(migrations.Migration):
    dependencies = (("engine", "0103_shorter_acts"),)

    operations = (
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(NO_KEY, KEY)],
            state_operations=[
                migrations.AlterField(
                    "taskevent",
                    "instance",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="task_events",
                        to="engine.instance",
                    ),
                )
            ],
        ),
    )
