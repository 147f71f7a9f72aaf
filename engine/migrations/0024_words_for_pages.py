"""Name four kinds of rows as people read them in the admin; the tables stay as they are."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("engine", "0023_deliveries_by_name"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="audit",
            options={"ordering": ("id",), "verbose_name": "audit entry", "verbose_name_plural": "audit entries"},
        ),
        migrations.AlterModelOptions(
            name="bulkact",
            options={"ordering": ("-id",), "verbose_name": "bulk operation", "verbose_name_plural": "bulk operations"},
        ),
        migrations.AlterModelOptions(
            name="businesscalendar",
            options={"ordering": ("name",), "verbose_name": "calendar", "verbose_name_plural": "calendars"},
        ),
        migrations.AlterModelOptions(
            name="webhookdelivery",
            options={"ordering": ("-id",), "verbose_name": "delivery", "verbose_name_plural": "deliveries"},
        ),
    ]
