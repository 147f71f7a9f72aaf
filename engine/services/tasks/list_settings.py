"""How a person's lists look and with which one the inbox opens; kept on the server, for all their browsers."""

from collections.abc import Iterable
from uuid import UUID

from django.utils.translation import gettext as _

from engine import access
from engine.access.task_filters import COLUMN_NAME
from engine.db.transactions import in_one_transaction
from engine.errors import Refused
from engine.models import ListSettings
from engine.services.tasks.lists import VIEWS
from workflowplatform.accounts.actor import Actor

COLUMNS = ("priority", "case", "reference", "details", "starter", "opened", "holder", "due")
"""What a row can show besides its title, in the order in which it does; `column.NAME` is one that authors declare."""
USUAL = tuple(name for name in COLUMNS if name != "opened")
MOST_DECLARED = 4
"""How many declared columns have a place of their own."""


def columns_of(settings: ListSettings | None, view: str) -> tuple[str, ...]:
    """Return the columns that a list shows to a person."""
    chosen = settings.columns.get(view) if settings and isinstance(settings.columns, dict) else None
    return USUAL if not isinstance(chosen, list) else _known(chosen)


def _known(names: Iterable[object]) -> tuple[str, ...]:
    said = [name for name in names if isinstance(name, str)]
    declared = [name for name in dict.fromkeys(said) if _is_declared(name)]
    return (*(name for name in COLUMNS if name in said), *declared[:MOST_DECLARED])


def _is_declared(name: str) -> bool:
    found = COLUMN_NAME.fullmatch(name)
    return found is not None and found["bound"] is None


@in_one_transaction
def choose_columns(*, actor: Actor, view: str, names: Iterable[str] | None) -> tuple[str, ...]:
    """Show these columns in one of the actor's lists; None: the usual ones."""
    row = _row_of(actor)
    columns = {name: kept for name, kept in row.columns.items() if name in VIEWS and name != view}
    if names is not None:
        columns[view] = list(_known(names))
    row.columns = columns
    row.save(update_fields=["columns"])
    return columns_of(row, view)


@in_one_transaction
def choose_start(*, actor: Actor, view: str = "", filter_id: UUID | None = None) -> ListSettings:
    """Open the actor's inbox with a list, or with a saved filter that they see; with neither it opens as usual."""
    saved = None if filter_id is None else access.filter_of(actor, filter_id)
    row = _row_of(actor)
    row.start_view = view if view in VIEWS and saved is None else ""
    row.start_filter = saved
    row.save(update_fields=["start_view", "start_filter"])
    return row


def _row_of(actor: Actor) -> ListSettings:
    if actor.person_id is None:
        raise Refused(_("Only a person keeps settings."), code="not_candidate")
    key = {"tenant_id": actor.tenant_id, "person_id": actor.person_id}
    ListSettings.objects.bulk_create([ListSettings(**key)], ignore_conflicts=True)
    return ListSettings.objects.select_for_update(no_key=True).get(**key)
