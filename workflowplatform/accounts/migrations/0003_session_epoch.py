"""Give people an epoch that their sessions are bound to, so that deactivation ends them for good."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_tenant_keys")]
    operations = [
        migrations.AddField(
            "user", "session_epoch", models.PositiveIntegerField(db_default=0, default=0, editable=False)
        ),
    ]
