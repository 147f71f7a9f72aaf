"""Keep what became of each task of a bulk action, so that its page can be left and read again."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.utils import timezone

from engine.db.transactions import in_one_transaction
from engine.models import BulkReport
from engine.services.tasks.bulk import BulkResult
from workflowplatform.accounts.actor import Actor

KEPT_FOR = timedelta(days=30)
LONGEST_QUERY = 2000


@in_one_transaction
def keep_report(
    *, actor: Actor, action: str, query: str, results: Sequence[BulkResult], words: Mapping[str, str] | None = None
) -> BulkReport:
    """Return the results of a bulk action, kept for the person who asked for it if they see one of its tasks at least."""
    assert actor.person_id is not None, "only people act on pages"
    done = sum(result.ok for result in results)
    report = BulkReport(
        tenant_id=actor.tenant_id,
        person_id=actor.person_id,
        action=action,
        query=query[:LONGEST_QUERY],
        results=[{"task": str(result.task_id), "code": result.code, "message": result.message} for result in results],
        words=dict(words or {}),
        done=done,
        left=len(results) - done,
        created_at=timezone.now(),
    )
    if any(result.code != "not_found" for result in results):
        report.save(force_insert=True)
    return report
