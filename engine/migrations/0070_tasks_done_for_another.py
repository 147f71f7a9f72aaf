"""Keep for whom a deputy completed a task."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("accounts", "0010_absences_and_managers"), ("engine", "0034_drop_unused_indexes"))

    operations = (
        migrations.AddField(
            "task",
            "completed_for_name",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The absent person for whom a deputy completed it.",
                max_length=100,
            ),
        ),
    )
