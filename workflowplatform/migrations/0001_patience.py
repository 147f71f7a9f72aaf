"""Let no statement, no wait for a lock and no forgotten transaction last for ever, whichever role it belongs to.

It is the database that remembers this, not a session: behind a pooler in transaction mode sessions have no memory. Who owns the
database sets it for every role; who does not, for the role that migrates. What knowingly takes longer says so for itself with
SET LOCAL.
"""

from django.db import migrations

PATIENCE = {
    "statement_timeout": "2min",
    "lock_timeout": "30s",
    "idle_in_transaction_session_timeout": "2min",
}

REMEMBER = """
DO $$ BEGIN
  EXECUTE format('ALTER DATABASE %%I SET {name} = %%L', current_database(), '{value}');
EXCEPTION WHEN insufficient_privilege THEN
  EXECUTE format('ALTER ROLE CURRENT_USER IN DATABASE %%I SET {name} = %%L', current_database(), '{value}');
END $$
"""

FORGET = """
DO $$ BEGIN
  EXECUTE format('ALTER ROLE CURRENT_USER IN DATABASE %%I RESET {name}', current_database());
  EXECUTE format('ALTER DATABASE %%I RESET {name}', current_database());
EXCEPTION WHEN insufficient_privilege THEN NULL;
END $$
"""


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.RunSQL(
            [(REMEMBER.format(name=name, value=value), ()) for name, value in PATIENCE.items()],
            [(FORGET.format(name=name), ()) for name in PATIENCE],
        )
    ]
