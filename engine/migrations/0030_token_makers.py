"""Write down who made the tokens that are there, as the audit knows; what was made for another person ends within a month."""

from django.db import migrations

NAME = """
UPDATE wf_tokens t SET made_by = CASE WHEN a.actor_name = 'operator' THEN 'command line' ELSE a.actor_name END
FROM wf_audit a
WHERE t.made_by = '' AND a.action = 'create_token' AND a.subject_id = t.user_id AND a.new ->> 'key' = t.token_key;
"""
END = """
UPDATE wf_tokens t SET expiry = least(t.expiry, now() + interval '30 days')
FROM wf_people p
WHERE p.id = t.user_id AND p.kind = 'person' AND t.made_by NOT IN ('', 'command line', p.username);
"""


class Migration(migrations.Migration):
    dependencies = [("engine", "0029_four_eyes"), ("accounts", "0005_kinds_and_sign_in")]
    operations = [migrations.RunSQL(NAME, migrations.RunSQL.noop), migrations.RunSQL(END, migrations.RunSQL.noop)]
