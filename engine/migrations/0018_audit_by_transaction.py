"""Let the model know the column by which readers follow the audit; the table has had it since 0003."""

from django.db import migrations

import engine.models.base


class Migration(migrations.Migration):
    dependencies = [("engine", "0017_webhooks")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddField(model_name="audit", name="xid", field=engine.models.base.TransactionField())
            ]
        )
    ]
