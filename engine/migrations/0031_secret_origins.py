"""Let a secret name the origins that it may be sent to. Those that are there name none and keep working."""

from django.db import migrations, models
from django.db.models import Value


class Migration(migrations.Migration):
    dependencies = (("engine", "0029_four_eyes"),)

    operations = (
        migrations.AddField(
            "secret",
            "origins",
            models.JSONField(default=list, db_default=Value([], output_field=models.JSONField())),
        ),
    )
