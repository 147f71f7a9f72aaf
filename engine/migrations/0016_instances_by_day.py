"""Find what was started and ended on a day, at hardly any cost to those who write."""

import django.contrib.postgres.indexes
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_session_epoch"),
        ("engine", "0015_bulk_acts"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="instance",
            index=django.contrib.postgres.indexes.BrinIndex(
                autosummarize=True, fields=["started_at", "ended_at"], name="instances_by_day"
            ),
        ),
    ]
