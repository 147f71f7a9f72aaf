"""Know the family that an instance was born into and the links without a wait that led to it, so that both have an end."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = (("engine", "0026_places"),)

    operations = (
        migrations.AddField("instance", "root_id", models.UUIDField(blank=True, null=True)),
        migrations.AddField("instance", "hops", models.PositiveIntegerField(db_default=0, default=0)),
        migrations.AddIndex(
            "instance", models.Index(condition=Q(root_id__isnull=False), fields=["root_id"], name="instances_by_root")
        ),
    )
