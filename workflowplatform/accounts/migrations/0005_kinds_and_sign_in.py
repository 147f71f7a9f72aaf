"""Tell service accounts from people, keep who made what, bound tokens in time, and count failed sign-ins."""

from typing import Any

from django.db import migrations, models

LIST: dict[str, Any] = {
    "blank": True,
    "db_default": models.Value([], output_field=models.JSONField()),
    "default": list,
    "editable": False,
}
NAME: dict[str, Any] = {"blank": True, "db_default": "", "default": "", "editable": False, "max_length": 100}
KINDS = [("person", "Person"), ("service", "Service")]

BOUND = """
UPDATE wf_tokens SET expiry = greatest(created + interval '365 days', now() + interval '30 days') WHERE expiry IS NULL;
"""
"""Tokens made to live for ever end a year after they were made, and no program stops on the day of the upgrade."""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_language_and_keys")]

    operations = [
        migrations.AddField(
            "user", "kind", models.CharField(choices=KINDS, db_default="person", default="person", max_length=7)
        ),
        migrations.AddField("user", "made_by", models.CharField(**NAME)),
        migrations.AddField("user", "same_eyes", models.JSONField(**LIST)),
        migrations.AddField("user", "email_changed_at", models.DateTimeField(blank=True, editable=False, null=True)),
        migrations.AddField("user", "email_changed_by", models.CharField(**NAME)),
        migrations.AddConstraint(
            "user",
            models.CheckConstraint(condition=models.Q(("kind__in", ["person", "service"])), name="person_kind_known"),
        ),
        migrations.AddField("token", "made_by", models.CharField(**NAME)),
        migrations.AddField("token", "used_from", models.JSONField(**LIST)),
        migrations.RunSQL(BOUND, migrations.RunSQL.noop),
        migrations.CreateModel(
            name="SignInTally",
            fields=[
                ("key", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("at", models.DateTimeField()),
                ("until", models.DateTimeField(null=True)),
            ],
            options={"db_table": "wf_sign_in_tallies"},
        ),
        migrations.AddIndex("signintally", models.Index(fields=["at"], name="sign_in_tally_age")),
    ]
