"""Keep the record as it was designed.

Ids of signals and events are remembered per sender, with a digest of their content. The new uniqueness is wider than the old one,
so that every row that is there keeps its place.
"""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = (("engine", "0025_limits_by_index"),)

    operations = (
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
