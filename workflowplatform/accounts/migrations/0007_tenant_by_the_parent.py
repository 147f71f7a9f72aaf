"""Drop the key of memberships to the tenant: the keys to the person and to the role carry it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("accounts", "0010_absences_and_managers"),)

    operations = (
        migrations.AlterField(
            "membership",
            "tenant",
            models.ForeignKey(
                on_delete=models.PROTECT, related_name="+", to="accounts.tenant", db_index=False, db_constraint=False
            ),
        ),
    )
