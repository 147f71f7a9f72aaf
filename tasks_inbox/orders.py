"""The orders in which lists stand, and how a page goes on from the last: by walking the order, never by counting offsets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, OrderBy, Q, QuerySet
from django.utils.timezone import is_aware
from django.utils.translation import gettext_lazy as _

from engine.models import Task

PAGE = 24


def _read_moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if not is_aware(found):
        raise ValueError(text)
    return found


@dataclass(frozen=True, slots=True)
class Key:
    """One column of an order; where it may be empty, empty comes last."""

    name: str
    read: Callable[[str], Any]
    down: bool = False
    may_be_empty: bool = False

    def order(self) -> OrderBy:
        """Say it to the database."""
        column = F(self.name)
        last = True if self.may_be_empty else None
        return column.desc(nulls_last=last) if self.down else column.asc(nulls_last=last)

    def same(self, value: Any) -> Q:
        """Say which rows stand at the same place."""
        return Q(**{f"{self.name}__isnull": True}) if value is None else Q(**{self.name: value})

    def beyond(self, value: Any) -> Q | None:
        """Say which rows follow; nothing follows what is empty."""
        if value is None:
            return None
        follows = Q(**{f"{self.name}__{'lt' if self.down else 'gt'}": value})
        return follows | Q(**{f"{self.name}__isnull": True}) if self.may_be_empty else follows

    def mark(self, task: Task) -> str:
        """Write a row's place for an address."""
        value = getattr(task, self.name)
        if value is None:
            return ""
        return str(value.isoformat()) if isinstance(value, datetime) else str(value)

    def value(self, text: str) -> Any:
        """Read a place from an address."""
        return None if self.may_be_empty and not text else self.read(text)


@dataclass(frozen=True, slots=True)
class Order:
    """A total order of tasks, with the words that say it."""

    name: str
    word: Any
    keys: tuple[Key, ...]

    def sort(self, rows: QuerySet[Task]) -> QuerySet[Task]:
        """Bring rows into this order."""
        return rows.order_by(*(key.order() for key in self.keys))

    def after(self, mark: str) -> Q:
        """Say which rows follow a mark; a broken one is as good as none."""
        values = self._read(mark)
        if values is None:
            return Q()
        follows, same = Q(pk__in=[]), Q()
        for key, value in zip(self.keys, values, strict=True):
            beyond = key.beyond(value)
            follows = follows if beyond is None else follows | same & beyond
            same &= key.same(value)
        return follows

    def _read(self, mark: str) -> list[Any] | None:
        try:
            return [key.value(text) for key, text in zip(self.keys, mark.split("~"), strict=True)]
        except (ValueError, OverflowError):
            return None

    def mark(self, task: Task) -> str:
        """Write where a row stands, for an address."""
        return "~".join(key.mark(task) for key in self.keys)


PRIORITY = Key("priority", int, down=True)
DUE = Key("due_at", _read_moment, may_be_empty=True)
ID = Key("id", UUID)
ID_DOWN = Key("id", UUID, down=True)

URGENT = Order("urgent", _("Priority, then due"), (PRIORITY, DUE, ID))
ORDERS: Mapping[str, Order] = {
    order.name: order
    for order in (
        URGENT,
        Order("due", _("Due first"), (DUE, ID)),
        Order("newest", _("Newest first"), (ID_DOWN,)),
        Order("oldest", _("Oldest first"), (ID,)),
    )
}
"""What a person may choose."""
LAST_DONE = Order("done", _("Newest first"), (Key("completed_at", _read_moment, down=True), ID_DOWN))
NEXT_UP = Order("later", _("Next first"), (Key("follow_up_at", _read_moment), ID))


@dataclass(frozen=True, slots=True)
class Page:
    """A page of rows and where the next begins."""

    rows: list[Task]
    next: str


def page_of(rows: QuerySet[Task], order: Order, after: str) -> Page:
    """Cut one page out of a list."""
    found = list(order.sort(rows.filter(order.after(after)))[: PAGE + 1])
    return Page(found[:PAGE], order.mark(found[PAGE - 1]) if len(found) > PAGE else "")
