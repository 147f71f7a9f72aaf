"""Tell people of answers that could not be sent when their time for undo was over."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

KINDS = (
    "assigned",
    "offered",
    "mentioned",
    "asked",
    "answered",
    "due_soon",
    "late",
    "decided",
    "handed_over",
    "not_sent",
)


class Migration(migrations.Migration):
    dependencies = (("engine", "0111_pending_answers"),)

    operations = (
        migrations.AlterField(
            "notification", "kind", models.CharField(choices=[(kind, kind) for kind in KINDS], max_length=12)
        ),
        migrations.RemoveConstraint("notification", "notification_kind_known"),
        AddConstraintNotValid(
            "notification",
            models.CheckConstraint(condition=models.Q(("kind__in", KINDS)), name="notification_kind_known"),
        ),
    )
