"""Pause the clock of a task while a question about it is open."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("engine", "0115_bulk_reports_keep_their_words"),)

    operations = (
        migrations.AddField(
            model_name="task",
            name="clock_paused_at",
            field=models.DateTimeField(
                blank=True,
                help_text="Since when its clock is paused; it is due at no time until it runs again.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="task",
            name="clock_due_at",
            field=models.DateTimeField(blank=True, help_text="When it was due as its clock was paused.", null=True),
        ),
        migrations.AddField(
            model_name="task",
            name="clock_resumes_at",
            field=models.DateTimeField(
                blank=True,
                help_text="When its clock runs again at the latest, where the author limits a pause.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="taskquestion",
            name="reminded_at",
            field=models.DateTimeField(blank=True, help_text="When its person was reminded last.", null=True),
        ),
    )
