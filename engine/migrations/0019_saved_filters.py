"""Keep the filters that people save, privately or for everybody."""

import django.db.models.deletion
import workflowplatform.ids
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_session_epoch"),
        ("engine", "0018_audit_by_transaction"),
    ]

    operations = [
        migrations.CreateModel(
            name="SavedFilter",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("owner_id", models.UUIDField()),
                ("owner_name", models.CharField(max_length=100)),
                ("name", models.CharField(max_length=60)),
                (
                    "query",
                    models.TextField(help_text="The list's address behind the question mark, in its one written form."),
                ),
                ("shared", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                (
                    "deleted_at",
                    models.DateTimeField(
                        blank=True, help_text="Kept for a while, so that it can be undone.", null=True
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.tenant"
                    ),
                ),
            ],
            options={
                "db_table": "wf_saved_filters",
                "ordering": ("name", "id"),
                "indexes": [
                    models.Index(
                        condition=models.Q(("deleted_at__isnull", True), ("shared", True)),
                        fields=["tenant", "name"],
                        name="shared_filters_by_tenant",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at__isnull", True)),
                        fields=("tenant", "owner_id", "name"),
                        name="one_filter_a_name",
                    )
                ],
            },
        ),
    ]
