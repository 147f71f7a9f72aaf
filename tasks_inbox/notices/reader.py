"""Write for one person: in their tenant, language and time zone, with people by their names."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.utils import timezone, translation

from engine.presentation.narrative.people_names import names_shown
from engine.services.notifications.preferences import zone_of
from workflowplatform.accounts.models import User
from workflowplatform.database.tenancy import acting_for


@contextmanager
def as_reader(person: User, *, language: str | None = None) -> Iterator[None]:
    """Write what is made inside as its reader wants it; `language` where they have not chosen one."""
    chosen = person.language or language or settings.LANGUAGE_CODE
    zone = timezone.override(zone_of(person))
    with acting_for(person.tenant_id), translation.override(chosen), zone, names_shown(person.tenant_id):
        yield
