"""Call deliveries by their name."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("engine", "0022_asked_before")]
    operations = [
        migrations.AlterModelOptions(
            name="webhookdelivery",
            options={"ordering": ("-id",), "verbose_name": "delivery", "verbose_name_plural": "deliveries"},
        ),
    ]
