"""Check the kinds of the notifications that are there, without keeping writers waiting."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = (("engine", "0112_told_of_refusals"),)

    operations = (ValidateConstraint("notification", "notification_kind_known"),)
