"""Drop the indexes that Django made for foreign keys and that no query needs (docs/database.md)."""

from typing import Any

from django.conf import settings
from django.db import migrations, models

from workflowplatform.database.index_operations import DropForeignKeyIndex


def tenant(related_name: str) -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(on_delete=models.PROTECT, related_name=related_name, to="accounts.tenant", db_index=False)


class Migration(migrations.Migration):
    dependencies = (("accounts", "0005_kinds_and_sign_in"),)

    operations = (
        DropForeignKeyIndex("membership", "tenant", tenant("+")),
        DropForeignKeyIndex("role", "tenant", tenant("roles")),
        DropForeignKeyIndex("user", "tenant", tenant("people")),
        DropForeignKeyIndex(
            "membership",
            "user",
            models.ForeignKey(
                on_delete=models.CASCADE,
                related_name="memberships",
                to=settings.AUTH_USER_MODEL,
                db_constraint=False,
                db_index=False,
            ),
        ),
    )
