"""Filter values of declared columns, and short texts of lists."""

from dataclasses import dataclass

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from engine.access.task_filters import COLUMN
from engine.models import Task
from engine.services.tasks.lists import MOST_COUNTED
from tasks_inbox.presenters.amounts import Amount, amount_of
from tasks_inbox.presenters.filters import Filter
from workflowplatform.accounts.actor import StandIn

register = template.Library()

NUMBERS = (
    lambda: _("One"), lambda: _("Two"), lambda: _("Three"), lambda: _("Four"), lambda: _("Five"),
    lambda: _("Six"), lambda: _("Seven"), lambda: _("Eight"), lambda: _("Nine"), lambda: _("Ten"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked about one column."""

    words: str
    least: str
    most: str


@register.simple_tag
def column_asked(asked: Filter, name: str) -> Asked:
    """Read what was asked about a column."""
    return Asked(*(asked.asked.get(f"{COLUMN}{name}{bound}", "") for bound in ("", ".min", ".max")))


@register.filter
def late_words(late: int) -> str:
    """Describe how many are overdue, with small numbers as words."""
    if late > MOST_COUNTED:
        return _("More than %(most)d are overdue.") % {"most": MOST_COUNTED}
    number = NUMBERS[late - 1]() if late <= len(NUMBERS) else str(late)
    return ngettext("%(number)s is overdue.", "%(number)s are overdue.", late) % {"number": number}


@register.filter
def either(names: list[str]) -> str:
    """Join names with commas and a last “and”: Finance, Support and Management."""
    return (
        names[0] if len(names) == 1 else _("%(some)s and %(last)s") % {"some": ", ".join(names[:-1]), "last": names[-1]}
    )


@register.simple_tag
def amount_in(task: Task) -> Amount | None:
    """Return the amount that a task's columns say."""
    return amount_of(task)


@register.simple_tag(takes_context=True)
def stands_in_for(context: template.Context, task: Task) -> StandIn | None:
    """Return the absent person whose task the reader sees as their deputy, as far as the row itself says so."""
    for absent in context["request"].actor.stands_in:
        named = task.assignee_id is None and absent.name in task.users and not task.effective_roles
        if absent.person_id == task.assignee_id or named:
            return absent  # type: ignore[no-any-return]
    return None
