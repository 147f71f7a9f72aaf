"""Let people lead a role that they hold."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("accounts", "0007_tenant_by_the_parent"),)

    operations = (migrations.AddField("membership", "leads", models.BooleanField(db_default=False, default=False)),)
