"""Leave room in the pages of rows that change while they live, so that a change stays in its page and touches no index.

A page takes no more rows when less is free than a row needs, and is tidied up when it is fuller than that.
"""

from django.db import migrations

ROOM = (("wf_runtime_states", 75), ("wf_instances", 85))

SET = "\n".join(f"ALTER TABLE {table} SET (fillfactor = {share});" for table, share in ROOM)
RESET = "\n".join(f"ALTER TABLE {table} RESET (fillfactor);" for table, _ in ROOM)


class Migration(migrations.Migration):
    dependencies = (("engine", "0101_task_of_its_version"),)

    operations = (migrations.RunSQL(SET, RESET),)
