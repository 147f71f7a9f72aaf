"""Let a case have a title, and comments and files of its own, apart from its tasks."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("engine", "0081_tasks_by_due_date"),)

    operations = (
        migrations.AddField(
            model_name="instance",
            name="title",
            field=models.CharField(blank=True, max_length=200, null=True),
        ),
        migrations.AlterField(
            model_name="taskcomment",
            name="task",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="comments",
                to="engine.task",
            ),
        ),
        migrations.AlterField(
            model_name="taskattachment",
            name="task",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="attachments",
                to="engine.task",
            ),
        ),
    )
