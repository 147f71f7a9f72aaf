"""Let people choose the language of the pages, and switch single-key shortcuts off."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_session_epoch")]

    operations = [
        migrations.AddField(
            model_name="user", name="single_keys", field=models.BooleanField(db_default=True, default=True)
        ),
        migrations.AddField(
            model_name="user",
            name="language",
            field=models.CharField(blank=True, db_default="", default="", max_length=10),
        ),
    ]
