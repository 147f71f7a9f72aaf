"""Keep the record as it was designed.

Ids of signals and events are remembered per sender, with a digest of their content. The new uniqueness is wider than the old one,
so that every row that is there keeps its place.

`last_executed_on` held the node and is now `last_executed_by`; when an instance was advanced is known from its next slice on.
No column is written anew for the rows that are there.
"""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = (("engine", "0025_limits_by_index"),)

    operations = (
        migrations.RemoveField("runtimestate", "last_executed_by"),
        migrations.RenameField("runtimestate", "last_executed_on", "last_executed_by"),
        migrations.AddField("runtimestate", "last_executed_on", models.DateTimeField(null=True)),
        migrations.AddField("instance", "reference_parts", models.JSONField(blank=True, null=True)),
        migrations.AddField("steprun", "parent_run", models.BigIntegerField(null=True)),
        migrations.AddField("event", "content", models.CharField(max_length=64, null=True)),
        migrations.AddField("signalreceipt", "content", models.CharField(max_length=64, null=True)),
        migrations.RemoveConstraint("event", "event_accepted_once"),
        migrations.AddConstraint(
            "event",
            models.UniqueConstraint(
                fields=("tenant", "actor_name", "name", "external_id"),
                condition=Q(kind="event"),
                name="event_accepted_once",
            ),
        ),
        migrations.AddConstraint(
            "event",
            models.UniqueConstraint(
                fields=("tenant", "actor_name", "name", "key", "external_id"),
                condition=Q(kind="signal"),
                name="signal_accepted_once",
            ),
        ),
    )
