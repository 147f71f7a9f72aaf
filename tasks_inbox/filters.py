"""What a person asks of a list by its address: words, workflow, role, priority, due date, reference, order."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from engine.diagram.naming import label_of
from engine.kernel.effects import PRIORITIES
from engine.models import Task
from tasks_inbox.lists import TaskList
from tasks_inbox.orders import ORDERS, URGENT, Order

MOST_WORDS = 8
LONGEST = 200

PRIORITY_WORDS: Mapping[str, Any] = {
    "critical": gettext_lazy("Critical"),
    "high": gettext_lazy("High"),
    "normal": gettext_lazy("Normal"),
    "low": gettext_lazy("Low"),
}


def _late() -> Q:
    return Q(due_at__lt=timezone.now())


def _today() -> Q:
    tomorrow = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return Q(due_at__lt=tomorrow)


def _week() -> Q:
    return Q(due_at__lt=timezone.now() + timedelta(days=7))


def _never() -> Q:
    return Q(due_at__isnull=True)


DUES: Mapping[str, tuple[Any, Callable[[], Q]]] = {
    "late": (gettext_lazy("overdue"), _late),
    "today": (gettext_lazy("by tonight"), _today),
    "week": (gettext_lazy("within 7 days"), _week),
    "none": (gettext_lazy("without a date"), _never),
}


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter in force: its name in the address, what it is about, its value in words."""

    name: str
    about: str
    value: str


@dataclass(frozen=True, slots=True)
class Filter:
    """What an address asks for; what it says wrongly is as good as not said."""

    words: str = ""
    template: str = ""
    role: str = ""
    priority: str = ""
    due: str = ""
    reference: str = ""
    sort: str = ""

    @classmethod
    def read(cls, address: QueryDict) -> "Filter":
        """Read a list's address."""
        priority, due, sort = address.get("priority", ""), address.get("due", ""), address.get("sort", "")
        return cls(
            words=_text(address, "q"),
            template=_text(address, "template"),
            role=_text(address, "role"),
            priority=priority if priority in PRIORITIES else "",
            due=due if due in DUES else "",
            reference=_text(address, "reference"),
            sort=sort if sort in ORDERS else "",
        )

    def keep(self, rows: QuerySet[Task]) -> QuerySet[Task]:
        """Keep the rows that fit."""
        rows = search(rows, self.words)
        if self.template:
            rows = rows.filter(version__template__name=self.template)
        if self.role:
            rows = rows.filter(effective_roles__contains=[self.role])
        if self.priority:
            rows = rows.filter(priority=PRIORITIES.index(self.priority))
        if self.due:
            rows = rows.filter(DUES[self.due][1]())
        return rows.filter(business_reference__istartswith=self.reference) if self.reference else rows

    def order_of(self, chosen: TaskList) -> Order:
        """Say in which order a list stands."""
        return chosen.order or ORDERS.get(self.sort, URGENT)

    def chips(self) -> list[Chip]:
        """List what is in force beside words and workflow, which show in their own fields."""
        said = [
            Chip("role", _("Role"), label_of(self.role) if self.role else ""),
            Chip("priority", _("Priority"), str(PRIORITY_WORDS[self.priority]) if self.priority else ""),
            Chip("due", _("Due"), str(DUES[self.due][0]) if self.due else ""),
            Chip("reference", _("Reference"), self.reference),
        ]
        return [chip for chip in said if chip.value]

    def __bool__(self) -> bool:
        return bool(self.words or self.template or self.chips())


def _text(address: QueryDict, name: str) -> str:
    return address.get(name, "").replace("\0", "").strip()[:LONGEST]


def search(rows: QuerySet[Task], words: str) -> QuerySet[Task]:
    """Keep tasks in whose title, reference or template every word stands."""
    for word in words.split()[:MOST_WORDS]:
        rows = rows.filter(
            Q(title__icontains=word)
            | Q(business_reference__icontains=word)
            | Q(version__template__title__icontains=word)
        )
    return rows


DUE_WORDS: Mapping[str, Any] = {name: word for name, (word, _fits) in DUES.items()}
ORDER_WORDS: Mapping[str, Any] = {order.name: order.word for order in ORDERS.values()}
