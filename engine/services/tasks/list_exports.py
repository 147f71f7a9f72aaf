"""Hand out a list of tasks as a file: the rows that its page would show, portion by portion, as the reader sees them then."""

from collections.abc import Iterator, Sequence

from engine.audit.chain import Act, record
from engine.db.transactions import in_one_transaction
from engine.models import Task
from engine.services.tasks.lists import TaskList
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import AuditedSubject, Tenant, User

MOST_EXPORTED = 10_000
PORTION = 500


@in_one_transaction
def note_export(*, actor: Actor, query: str) -> None:
    """Audit that the actor takes a list away, with its filters, before the first row leaves."""
    tenant = actor.crosses or actor.person_id is None
    subject: AuditedSubject = (
        Tenant.objects.get(pk=actor.tenant_id) if tenant else User.objects.get(username=actor.name)
    )
    record(subject, Act("export_tasks", new={"list": query[:2000]}), actor=actor)


def exported_tasks(shown: TaskList, *, without: Sequence[str] = ()) -> Iterator[tuple[list[Task], bool]]:
    """Read a list portion by portion, in its order; the last one says whether more rows are left out behind it."""
    cursor, left = None, MOST_EXPORTED
    while left:
        page = shown.page(cursor, min(PORTION, left), without=without)
        left, cursor = left - len(page.rows), page.next
        yield page.rows, cursor is not None and not left
        if cursor is None:
            return
