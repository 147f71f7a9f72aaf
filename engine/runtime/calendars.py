"""Read a tenant's business calendars for the kernel."""

from uuid import UUID

from engine.kernel.timing.calendars import Calendar
from engine.models import BusinessCalendar


def calendar_named(tenant_id: UUID, name: str) -> Calendar | None:
    """Return a calendar by name, with its current content."""
    content = BusinessCalendar.objects.filter(tenant_id=tenant_id, name=name).values_list("content", flat=True).first()
    return None if content is None else Calendar.from_json(content)
