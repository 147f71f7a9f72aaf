"""People's own names in place of their user names, and authors' texts as their reader sees them.

A page reads the names of its tenant once, when the first one is shown; outside of a page a user name is shown as a name.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.utils import timezone
from django.utils.dateparse import parse_date

from engine.kernel.expressions.text_marks import marked
from engine.presentation.forms.numbers import amounts_said
from workflowplatform.accounts.models import User
from workflowplatform.i18n.dates import date_format

MOST_NAMES = 20_000


@dataclass(slots=True)
class _Names:
    """The names of one tenant's people, read when first needed."""

    tenant_id: UUID
    found: Mapping[str, str] | None = field(default=None)

    def of(self, username: str) -> str:
        if self.found is None:
            people = User.objects.filter(tenant_id=self.tenant_id).exclude(full_name="")
            self.found = dict(people.values_list("username", "full_name")[:MOST_NAMES])
        return self.found.get(username, "")


_shown: ContextVar[_Names | None] = ContextVar("names of people", default=None)


@contextmanager
def names_shown(tenant_id: UUID) -> Iterator[None]:
    """Show the names of a tenant's people on the page that is made inside."""
    token = _shown.set(_Names(tenant_id))
    try:
        yield
    finally:
        _shown.reset(token)


def name_of(username: str) -> str:
    """Return a person's name by their user name."""
    names = _shown.get()
    return (names.of(username) if names and username else "") or username[:1].upper() + username[1:]


def said(text: str) -> str:
    """Return an author's text as its reader sees it: dates and amounts in their way, people by name."""
    text = marked(text, _date, name_of)
    return amounts_said(text) if "." in text else text  # an amount has its cents


def _date(text: str) -> str:
    day = parse_date(text) if "T" not in text else None
    if day is not None:
        return date_format(day, "j M Y")
    at = datetime.fromisoformat(text)
    return date_format(timezone.localtime(at) if at.tzinfo else at, "j M Y, H:i")
