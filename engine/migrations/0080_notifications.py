"""Keep what people are told, what they want to hear, where they can be reached, and links that answer one task."""

import datetime
import django.db.models.deletion
import workflowplatform.ids
from django.conf import settings
from django.db import migrations, models

KEYS = (
    ("wf_notifications", "person_id", "wf_people"),
    ("wf_notifications", "role_id", "wf_roles"),
    ("wf_notifications", "task_id", "wf_tasks"),
    ("wf_notifications", "instance_id", "wf_instances"),
    ("wf_notification_settings", "person_id", "wf_people"),
    ("wf_push_subscriptions", "person_id", "wf_people"),
    ("wf_role_chats", "role_id", "wf_roles"),
    ("wf_task_links", "person_id", "wf_people"),
    ("wf_task_links", "task_id", "wf_tasks"),
)

CREATE = """
ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_same_tenant
  FOREIGN KEY (tenant_id, {column}) REFERENCES {target} (tenant_id, id) ON DELETE CASCADE;
"""
DROP = "ALTER TABLE {table} DROP CONSTRAINT {table}_{column}_same_tenant;"

BEGIN = """
INSERT INTO wf_notification_cursors (id, tenant_id, after_xid, after_id, due_until)
SELECT gen_random_uuid(), id, pg_snapshot_xmin(pg_current_snapshot())::text::bigint, 0, clock_timestamp() FROM wf_tenants
"""
"""Nobody is told now what happened before this release."""


def sql(form: str) -> str:
    return "".join(form.format(table=table, column=column, target=target) for table, column, target in KEYS)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_drop_unused_indexes"),
        ("engine", "0071_handing_over"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Notification",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("assigned", "assigned"),
                            ("offered", "offered"),
                            ("mentioned", "mentioned"),
                            ("asked", "asked"),
                            ("due_soon", "due_soon"),
                            ("late", "late"),
                            ("decided", "decided"),
                            ("handed_over", "handed_over"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "channel",
                    models.CharField(choices=[("mail", "mail"), ("push", "push"), ("chat", "chat")], max_length=4),
                ),
                (
                    "way",
                    models.CharField(
                        choices=[("once", "once"), ("quiet", "quiet"), ("daily", "daily")], default="once", max_length=5
                    ),
                ),
                ("key", models.CharField(max_length=200)),
                ("actor_name", models.CharField(blank=True, max_length=100)),
                ("text", models.TextField(blank=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "pending"),
                            ("sent", "sent"),
                            ("dropped", "dropped"),
                            ("failed", "failed"),
                        ],
                        default="pending",
                        max_length=7,
                    ),
                ),
                ("due_at", models.DateTimeField()),
                ("created_at", models.DateTimeField()),
                ("sent_at", models.DateTimeField(null=True)),
                ("message_id", models.UUIDField(null=True)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("error", models.TextField(blank=True)),
                (
                    "instance",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="engine.instance",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "role",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.role",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="engine.task",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "wf_notifications",
                "ordering": ("-id",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("status", "pending")),
                        fields=["channel", "due_at"],
                        name="notifications_by_due",
                    ),
                    models.Index(fields=["person", "channel", "-sent_at"], name="notifications_by_person"),
                    models.Index(
                        condition=models.Q(("task__isnull", False)), fields=["task"], name="notifications_by_task"
                    ),
                    models.Index(
                        condition=models.Q(("instance__isnull", False)),
                        fields=["instance"],
                        name="notifications_by_instance",
                    ),
                    models.Index(
                        condition=models.Q(("status", "pending"), _negated=True),
                        fields=["sent_at"],
                        name="notifications_by_end",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "id"), name="notification_in_tenant"),
                    models.UniqueConstraint(
                        fields=("key", "channel", "person", "role"), name="told_once", nulls_distinct=False
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                (
                                    "assigned",
                                    "offered",
                                    "mentioned",
                                    "asked",
                                    "due_soon",
                                    "late",
                                    "decided",
                                    "handed_over",
                                ),
                            )
                        ),
                        name="notification_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("channel__in", ("mail", "push", "chat"))), name="notification_channel_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ("pending", "sent", "dropped", "failed"))),
                        name="notification_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("person__isnull", False), ("role__isnull", True)),
                            models.Q(("person__isnull", True), ("role__isnull", False)),
                            _connector="OR",
                        ),
                        name="notification_has_one_receiver",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="NotificationCursor",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("after_xid", models.BigIntegerField(default=0)),
                ("after_id", models.BigIntegerField(default=0)),
                ("due_until", models.DateTimeField(null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "wf_notification_cursors",
                "constraints": [models.UniqueConstraint(fields=("tenant",), name="one_notification_cursor_a_tenant")],
            },
        ),
        migrations.CreateModel(
            name="NotificationSettings",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("mail", models.JSONField(default=dict)),
                ("push", models.JSONField(null=True)),
                ("quiet", models.BooleanField(default=False)),
                ("quiet_from", models.TimeField(default=datetime.time(18, 30))),
                ("quiet_until", models.TimeField(default=datetime.time(7, 30))),
                ("quiet_weekend", models.BooleanField(default=False)),
                ("digest_at", models.TimeField(default=datetime.time(8, 0))),
                ("bounced_at", models.DateTimeField(null=True)),
                ("bounced_address", models.CharField(blank=True, max_length=254)),
                ("bounce", models.TextField(blank=True)),
                (
                    "person",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "wf_notification_settings",
                "constraints": [
                    models.UniqueConstraint(fields=("person",), name="notification_settings_once_a_person")
                ],
            },
        ),
        migrations.CreateModel(
            name="PushSubscription",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("endpoint", models.CharField(max_length=2000)),
                ("public_key", models.CharField(max_length=200)),
                ("auth", models.CharField(max_length=100)),
                ("browser", models.CharField(blank=True, max_length=100)),
                ("created_at", models.DateTimeField()),
                (
                    "person",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "wf_push_subscriptions",
                "ordering": ("id",),
                "constraints": [models.UniqueConstraint(fields=("person", "endpoint"), name="push_once_a_browser")],
            },
        ),
        migrations.CreateModel(
            name="RoleChat",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("chat", models.CharField(choices=[("slack", "slack"), ("teams", "teams")], max_length=5)),
                ("address", models.BinaryField()),
                ("failed_at", models.DateTimeField(null=True)),
                ("failure", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "role",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.role",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "wf_role_chats",
                "ordering": ("id",),
                "constraints": [
                    models.UniqueConstraint(fields=("role", "chat"), name="one_chat_of_a_kind_a_role"),
                    models.CheckConstraint(
                        condition=models.Q(("chat__in", ("slack", "teams"))), name="role_chat_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TaskLink",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("form_hash", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "person",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="engine.task",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "wf_task_links",
                "constraints": [models.UniqueConstraint(fields=("task", "person"), name="one_link_a_task_and_person")],
            },
        ),
        migrations.RunSQL(sql(CREATE), sql(DROP)),
        migrations.RunSQL(BEGIN, migrations.RunSQL.noop),
    ]
