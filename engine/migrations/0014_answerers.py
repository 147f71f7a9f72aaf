"""Find the tasks that somebody answered as one of several."""

import django.contrib.postgres.indexes
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_session_epoch"),
        ("engine", "0013_task_files_and_turns"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddIndex(
            model_name="task",
            index=django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("answered_by", []), _negated=True), fields=["answered_by"], name="tasks_by_answerer"
            ),
        ),
    ]
