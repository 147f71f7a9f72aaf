"""Leave out of the indexes of every act what no query looks for.

An act inserts an entry into each index of a row that it adds or moves, so each costs twice: its own page, and the log. Tokens of waits are never used again,
so that one index by instance and token is the rule and the way to an instance's tasks as well.
"""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import Q

OPEN = ("open", "claimed", "suspended")
BUILT_ASIDE = """
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS one_task_a_wait ON wf_tasks (instance_id, token);
"""
TAKEN_ON = "ALTER TABLE wf_tasks ADD CONSTRAINT one_task_a_wait UNIQUE USING INDEX one_task_a_wait;"
OLD_RULE = """
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS one_open_task_a_wait ON wf_tasks (instance_id, token)
  WHERE status IN ('open', 'claimed', 'suspended');
"""


def without_index(
    table: str, index: str, column: str, field: migrations.AlterField
) -> migrations.SeparateDatabaseAndState:
    """Drop an index that Django made for a foreign key, without waiting for those who read the table."""
    drop = migrations.RunSQL(
        f"DROP INDEX CONCURRENTLY IF EXISTS {index}",
        f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {index} ON {table} ({column})",
    )
    return migrations.SeparateDatabaseAndState(database_operations=[drop], state_operations=[field])


def key(to: str, on_delete: Any, **more: Any) -> Any:
    return models.ForeignKey(to=to, on_delete=on_delete, db_constraint=False, db_index=False, **more)


class Migration(migrations.Migration):
    atomic = False

    dependencies = (("engine", "0051_checked_once"),)

    operations = (
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(BUILT_ASIDE, "SELECT 1"),
                migrations.RunSQL(TAKEN_ON, "ALTER TABLE wf_tasks DROP CONSTRAINT one_task_a_wait"),
                migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS one_open_task_a_wait", OLD_RULE),
            ],
            state_operations=[
                migrations.AddConstraint(
                    "task", models.UniqueConstraint(fields=("instance", "token"), name="one_task_a_wait")
                ),
                migrations.RemoveConstraint("task", "one_open_task_a_wait"),
            ],
        ),
        RemoveIndexConcurrently("task", "tasks_by_instance"),
        AddIndexConcurrently(
            "task",
            models.Index(
                fields=["assignee", "-priority", "due_at", "id"],
                condition=Q(status__in=OPEN, assignee__isnull=False),
                name="open_tasks_of_assignee",
            ),
        ),
        RemoveIndexConcurrently("task", "open_tasks_by_assignee"),
        AddIndexConcurrently(
            "task",
            models.Index(
                fields=["completed_by_id", "-completed_at"],
                condition=Q(completed_by_id__isnull=False),
                name="tasks_of_completer",
            ),
        ),
        RemoveIndexConcurrently("task", "tasks_by_completer"),
        without_index(
            "wf_tasks",
            "wf_tasks_assignee_id_fc555d09",
            "assignee_id",
            migrations.AlterField(
                "task", "assignee", key("accounts.user", models.PROTECT, null=True, blank=True, related_name="tasks")
            ),
        ),
        AddIndexConcurrently(
            "instance",
            models.Index(
                fields=["tenant", "reference"], condition=Q(reference__isnull=False), name="instances_of_reference"
            ),
        ),
        RemoveIndexConcurrently("instance", "instances_by_reference"),
        AddIndexConcurrently(
            "wait",
            models.Index(
                fields=["tenant", "name", "key"], condition=Q(name__isnull=False), name="waits_of_name_and_key"
            ),
        ),
        RemoveIndexConcurrently("wait", "waits_by_name_and_key"),
        without_index(
            "wf_waits",
            "wf_waits_instance_id_0f15dea3",
            "instance_id",
            migrations.AlterField("wait", "instance", key("engine.instance", models.CASCADE, related_name="waits")),
        ),
        without_index(
            "wf_effects",
            "wf_effects_instance_id_1a4de269",
            "instance_id",
            migrations.AlterField("effect", "instance", key("engine.instance", models.CASCADE, related_name="effects")),
        ),
    )
