"""What a person asks of a list by its address, and how chips say it. The services know what each filter means."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from engine.access.task_filters import AGES, COLUMN, COLUMN_NAME, DUES, FILTERS, Asked, column_condition
from engine.diagram.step_names import label_of
from engine.presentation.narrative.people_names import name_of
from engine.services.tasks.lists import ORDERS

LONGEST = 200
MOST_COLUMNS = 12
OF_SERVICES = {
    "q": "search", "template": "template", "role": "role", "priority": "priority", "due": "due",
    "reference": "reference_prefix", "person": "person", "starter": "starter", "age": "age", "for": "assignee",
}  # fmt: skip
"""What is called otherwise in addresses than in the services; the order is that of addresses and chips."""

PRIORITY_WORDS: Mapping[str, Any] = {
    "critical": gettext_lazy("Critical"),
    "high": gettext_lazy("High"),
    "normal": gettext_lazy("Normal"),
    "low": gettext_lazy("Low"),
}
DUE_WORDS: Mapping[str, Any] = {
    "late": gettext_lazy("overdue"),
    "today": gettext_lazy("by tonight"),
    "week": gettext_lazy("within 7 days"),
    "month": gettext_lazy("by end of month"),
    "none": gettext_lazy("without a date"),
}
AGE_WORDS: Mapping[str, Any] = {
    "day": gettext_lazy("more than a day"),
    "week": gettext_lazy("more than a week"),
    "month": gettext_lazy("more than a month"),
    "quarter": gettext_lazy("more than 90 days"),
}
assert DUE_WORDS.keys() == DUES.keys()
assert AGE_WORDS.keys() == AGES.keys()


@dataclass(frozen=True, slots=True)
class Chip:
    """An active filter: what it is about, its value in words, and the address of the list without it."""

    name: str
    about: str
    value: str
    off: str


@dataclass(frozen=True, slots=True)
class Filter:
    """What an address asks of a list; what it says wrongly is as good as not said."""

    view: str
    asked: Mapping[str, str] = field(default_factory=dict)
    sort: str = ""

    @classmethod
    def read(cls, view: str, address: QueryDict) -> "Filter":
        """Read a list's address; a name said twice means both."""
        columns = [name for name in address if name.startswith(COLUMN)][:MOST_COLUMNS]
        said = {name: _said(address, name) for name in (*OF_SERVICES, *columns)}
        sort = address.get("sort", "")
        return cls(
            view, {name: text for name, text in said.items() if text and _fits(name, text)}, sort * (sort in ORDERS)
        )

    def conditions(self) -> list[Q | Asked]:
        """Return the conditions as the services take them."""
        return [_condition(name, text) for name, text in self.asked.items()]

    def address(self, without: str = "") -> str:
        """Return the query string, always in the same form."""
        pairs = {"view": self.view, **self.asked, **({"sort": self.sort} if self.sort else {})}
        return urlencode({name: text for name, text in pairs.items() if name != without}, safe=",")

    def chips(self, titles: Mapping[str, str]) -> list[Chip]:
        """List the active filters except the search words and, of one's own list, whose tasks: they have their own place."""
        return [
            Chip(name, _about(name), _words(name, text, titles), self.address(name))
            for name, text in self.asked.items()
            if name != "q" and not (name == "for" and self.view == "mine")
        ]

    def of(self, person: str) -> "Filter":
        """Ask for the same of one person's tasks; without a name of everybody's."""
        rest = {name: text for name, text in self.asked.items() if name != "for"}
        return replace(self, asked=rest | ({"for": person} if person else {}))

    @property
    def words(self) -> str:
        return self.asked.get("q", "")

    @property
    def person(self) -> str:
        return self.asked.get("for", "")

    @property
    def without_words(self) -> str:
        """Return the address without the words that were searched for."""
        return self.address("q")

    @property
    def template(self) -> str:
        return self.asked.get("template", "")

    def chosen(self, name: str) -> list[str]:
        """List the values chosen of a filter that takes several."""
        return self.asked[name].split(",") if name in self.asked else []

    def __bool__(self) -> bool:
        return bool(self.asked)


def _said(address: QueryDict, name: str) -> str:
    texts = [text.replace("\0", "").strip()[:LONGEST] for text in address.getlist(name)]
    return ",".join(dict.fromkeys(text for text in texts if text)) if len(texts) > 1 else "".join(texts)


def _condition(name: str, text: str) -> Q | Asked:
    if name.startswith(COLUMN):
        return column_condition(name, text)
    read, condition = FILTERS[OF_SERVICES[name]]
    return Asked(OF_SERVICES[name], read(text), condition)


def _fits(name: str, text: str) -> bool:
    try:
        _condition(name, text)
    except ValueError:
        return False
    return True


# In words

ABOUT: Mapping[str, Any] = {
    "template": gettext_lazy("Workflow"),
    "role": gettext_lazy("Role"),
    "priority": gettext_lazy("Priority"),
    "due": gettext_lazy("Due"),
    "reference": gettext_lazy("Reference"),
    "person": gettext_lazy("With"),
    "starter": gettext_lazy("Started by"),
    "age": gettext_lazy("Open for"),
    "for": gettext_lazy("Assigned to"),
}
SAID: Mapping[str, Callable[[str], str]] = {
    "role": label_of,
    "for": name_of,
    "priority": lambda name: str(PRIORITY_WORDS[name]),
    "due": lambda name: str(DUE_WORDS[name]),
    "age": lambda name: str(AGE_WORDS[name]),
}


def _about(name: str) -> str:
    column = COLUMN_NAME.fullmatch(name)
    return label_of(column["key"]) if column else str(ABOUT[name])


def _words(name: str, text: str, titles: Mapping[str, str]) -> str:
    if name in SAID:
        return ", ".join(SAID[name](one) for one in text.split(","))
    if name == "template":
        return titles.get(text, text)
    column = COLUMN_NAME.fullmatch(name)
    if column and column["bound"]:
        return (_("at least %(number)s") if column["bound"] == "min" else _("at most %(number)s")) % {"number": text}
    return text
