"""The time for which a clock was paused, and what is due after it."""

from dataclasses import dataclass
from datetime import datetime

from engine.kernel.timing.calendars import Calendar


@dataclass(frozen=True, slots=True)
class Pause:
    """The clock of a task was paused from one moment to another; on a business calendar only its working time counts."""

    since: datetime
    until: datetime
    calendar: Calendar | None = None

    def move(self, due: datetime) -> datetime:
        """Return when something is due after the pause: as much later as it was long. What was due before it stays."""
        if due <= self.since:
            return due
        if self.calendar is None:
            return due + (self.until - self.since)
        worked = self.calendar.business_time_between(self.since, self.until)
        moved = self.calendar.add_working_time(due, worked) if worked else due
        return moved if moved > self.until else self.calendar.next_open(self.until)
