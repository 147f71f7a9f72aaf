"""Let a secret name the origins that it may be sent to, and a kept signal its sender.

Secrets that are there name no origins and keep working; signals that are kept already have no sender.
"""

from django.db import migrations, models
from django.db.models import Value


class Migration(migrations.Migration):
    dependencies = (("engine", "0030_token_makers"),)

    operations = (
        migrations.AddField(
            "secret",
            "origins",
            models.JSONField(default=list, db_default=Value([], output_field=models.JSONField())),
        ),
        migrations.AddField("keptsignal", "sent_by_name", models.TextField(blank=True, db_default="", default="")),
    )
