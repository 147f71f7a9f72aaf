"""Let the audit show tampering from within: no TRUNCATE, anchors with a seal, roots, and where plain hashes end."""

from datetime import UTC
from typing import Any

import django.db.models.deletion
from django.db import migrations, models

import workflowplatform.ids
from engine.audit.chain import seal
from engine.audit.unkeyed_rows import seal_ends

GUARD = """
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON wf_audit FOR EACH STATEMENT EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON wf_task_events FOR EACH STATEMENT EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON wf_audit_anchors FOR EACH STATEMENT EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON wf_audit_plain_ends FOR EACH STATEMENT EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON wf_audit_roots FOR EACH STATEMENT EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON wf_audit_plain_ends FOR EACH ROW
  WHEN (coalesce(current_setting('workflow.purging', true), '') <> 'on') EXECUTE FUNCTION wf_append_only();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON wf_audit_roots FOR EACH ROW EXECUTE FUNCTION wf_append_only();

CREATE FUNCTION wf_seal_anchors(ids uuid[], seals text[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
-- A seal that is wrong only shows: who calls this without the audit's key explains nothing.
BEGIN
  PERFORM set_config('workflow.purging', 'on', true);
  UPDATE wf_audit_anchors n SET seal = s.seal FROM unnest(ids, seals) AS s(id, seal) WHERE n.subject_id = s.id;
  PERFORM set_config('workflow.purging', 'off', true);
END $$;
"""

UNDO = """
DROP FUNCTION wf_seal_anchors;
DROP TRIGGER append_only ON wf_audit_roots; DROP TRIGGER append_only ON wf_audit_plain_ends;
DROP TRIGGER not_truncated ON wf_audit_roots; DROP TRIGGER not_truncated ON wf_audit_plain_ends;
DROP TRIGGER not_truncated ON wf_audit_anchors; DROP TRIGGER not_truncated ON wf_task_events;
DROP TRIGGER not_truncated ON wf_audit;
"""


def seal_what_is_there(apps: Any, editor: Any) -> None:
    """Seal where every chain ends now, and the anchors that retention has left so far."""
    seal_ends()
    anchors = apps.get_model("engine", "AuditAnchor").objects.order_by("pk")
    batch = []
    for anchor in anchors.iterator(chunk_size=5000):
        batch.append((anchor.pk, seal("anchor", _facts(anchor))))
        if len(batch) == 5000:
            _write(editor, batch)
            batch = []
    _write(editor, batch)


def _facts(anchor: Any) -> tuple[Any, ...]:
    purged = anchor.purged_at.astimezone(UTC).isoformat(timespec="microseconds") if anchor.purged_at else ""
    return anchor.tenant_id, anchor.pk, anchor.seq, anchor.hash, purged


def _write(editor: Any, batch: list[tuple[Any, str]]) -> None:
    if batch:
        with editor.connection.cursor() as cursor:
            cursor.execute(
                "SELECT wf_seal_anchors(%s::uuid[], %s::text[])", [list(part) for part in zip(*batch, strict=True)]
            )


class Migration(migrations.Migration):
    dependencies = (("engine", "0031_secret_origins_and_senders"),)

    operations = (
        migrations.AddField(
            "auditanchor", "seal", models.CharField(db_default="", default="", editable=False, max_length=64)
        ),
        migrations.CreateModel(
            name="AuditPlainEnd",
            fields=[
                ("subject_id", models.UUIDField(primary_key=True, serialize=False)),
                ("subject_kind", models.CharField(max_length=10)),
                ("seq", models.BigIntegerField()),
                ("hash", models.CharField(max_length=64)),
                ("seal", models.CharField(max_length=64)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.tenant"
                    ),
                ),
            ],
            options={"db_table": "wf_audit_plain_ends"},
        ),
        migrations.CreateModel(
            name="AuditRoot",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflowplatform.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("made_at", models.DateTimeField()),
                ("chains", models.BigIntegerField()),
                ("digest", models.CharField(max_length=64)),
                ("statement", models.TextField(help_text="What was signed.")),
                ("signature", models.CharField(max_length=100)),
                ("public_key", models.CharField(max_length=50)),
                ("file", models.CharField(max_length=200)),
            ],
            options={"db_table": "wf_audit_roots", "ordering": ("-id",)},
        ),
        migrations.RunSQL(GUARD, UNDO),
        migrations.RunPython(seal_what_is_there, migrations.RunPython.noop),
    )
