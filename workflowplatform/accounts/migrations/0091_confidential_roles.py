"""Let a role be confidential: a deputy gets its work only where the absent person chooses it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("accounts", "0090_undo"),)

    operations = (migrations.AddField("role", "confidential", models.BooleanField(db_default=False, default=False)),)
