"""Let a tenant say how long an answer can be taken back."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("accounts", "0085_leads_of_roles"),)

    operations = (
        migrations.AddField("tenant", "undo_seconds", models.PositiveSmallIntegerField(blank=True, null=True)),
    )
