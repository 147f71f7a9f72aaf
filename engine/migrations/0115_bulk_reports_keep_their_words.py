"""Keep with the result of a bulk action what was asked besides the tasks, so that the rest can be tried again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("engine", "0114_lists_of_people"),)

    operations = (
        migrations.AddField(
            "bulkreport",
            "words",
            models.JSONField(db_default=models.Value({}, output_field=models.JSONField()), default=dict),
        ),
    )
