"""Tell people that their question was answered, hold back crowds, and write to each kind of chat by a channel of its own."""

from django.db import migrations, models

KINDS = ("assigned", "offered", "mentioned", "asked", "answered", "due_soon", "late", "decided", "handed_over")
CHANNELS = ("mail", "push", "slack", "teams")
WAYS = ("once", "later", "quiet", "daily")

CHATS = """
UPDATE wf_notifications n SET channel = c.chat FROM wf_role_chats c WHERE n.channel = 'chat' AND c.role_id = n.role_id;
DELETE FROM wf_notifications WHERE channel = 'chat';
"""


def choices(words: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(word, word) for word in words]


class Migration(migrations.Migration):
    dependencies = (("engine", "0104_event_of_its_task"),)

    operations = (
        migrations.RemoveConstraint("notification", "notification_channel_known"),
        migrations.RemoveConstraint("notification", "notification_kind_known"),
        migrations.AlterField("notification", "kind", models.CharField(choices=choices(KINDS), max_length=12)),
        migrations.AlterField("notification", "channel", models.CharField(choices=choices(CHANNELS), max_length=5)),
        migrations.AlterField(
            "notification", "way", models.CharField(choices=choices(WAYS), default="once", max_length=5)
        ),
        migrations.RunSQL(CHATS, migrations.RunSQL.noop),
        migrations.AddConstraint(
            "notification",
            models.CheckConstraint(condition=models.Q(kind__in=KINDS), name="notification_kind_known"),
        ),
        migrations.AddConstraint(
            "notification",
            models.CheckConstraint(condition=models.Q(channel__in=CHANNELS), name="notification_channel_known"),
        ),
        migrations.AddField(
            "rolechat", "language", models.CharField(blank=True, db_default="", default="", max_length=10)
        ),
        migrations.AlterModelOptions(
            "rolechat", {"ordering": ("id",), "verbose_name": "chat", "verbose_name_plural": "chats"}
        ),
    )
