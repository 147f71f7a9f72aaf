"""Find the tasks of people that fall due, without reading all that are open."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = (("engine", "0080_notifications"),)

    operations = (
        AddIndexConcurrently(
            "task",
            models.Index(
                fields=["tenant", "due_at"],
                condition=models.Q(
                    ("assignee__isnull", False),
                    ("due_at__isnull", False),
                    ("status__in", ("open", "claimed", "suspended")),
                ),
                name="open_tasks_by_due",
            ),
        ),
    )
