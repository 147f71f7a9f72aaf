"""Let one host at a time do a hosted job, and remember why a version cannot start instances in this release."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("engine", "0009_retention")]
    operations = [
        migrations.CreateModel(
            name="HostLock",
            fields=[
                ("name", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("holder", models.CharField(max_length=200)),
                ("acquired_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
            ],
            options={"db_table": "wf_host_locks"},
        ),
        migrations.AddField(
            "templateversion", "unavailable", models.TextField(blank=True, db_default="", default="", editable=False)
        ),
    ]
