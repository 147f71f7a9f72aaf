"""The columns of a list as its reader chose them: what can be chosen, and what stands in places of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from engine.access.task_filters import COLUMN
from engine.diagram.step_names import label_of
from engine.models import ListSettings
from engine.services.tasks.list_settings import COLUMNS, columns_of
from tasks_inbox.presenters.lists import Words

WORDS: Mapping[str, Any] = {
    "priority": _("Priority"),
    "case": _("Case or workflow"),
    "reference": _("Reference"),
    "details": _("Details"),
    "starter": _("Started by"),
    "opened": _("Open since"),
    "holder": _("Assignee or role"),
    "due": _("Due"),
}
WORDS_OF_LISTS: Mapping[str, Mapping[str, Any]] = {
    "done": {"holder": _("Answer"), "due": _("Completed")},
    "later": {"due": _("Back")},
}
"""Where a column says something else."""
assert WORDS.keys() == set(COLUMNS)


@dataclass(frozen=True, slots=True)
class Choice:
    """A column that can be chosen."""

    name: str
    word: Any
    on: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """A column with a place of its own; `key` is the declared column's, empty where the platform fills it."""

    name: str
    word: Any
    key: str = ""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one list."""

    choices: tuple[Choice, ...]
    cells: tuple[Cell, ...]
    shown: frozenset[str]
    changed: bool

    @property
    def names(self) -> str:
        """Name the columns that are shown, for programs."""
        return " ".join(choice.name for choice in self.choices if choice.on)

    @property
    def keys(self) -> list[str]:
        """Return the declared columns that have a place of their own."""
        return [cell.key for cell in self.cells if cell.key]

    @property
    def look(self) -> str:
        """Return the classes by which the list's grid has as many places as there are columns."""
        parts = [f"wf-list--cells-{len(self.cells)}"] if self.cells else []
        parts += [f"wf-list--no-{name}" for name in ("holder", "due") if name not in self.shown]
        return " ".join(parts)


def columns_for(settings: ListSettings | None, chosen: Words, declared: Sequence[str]) -> Columns:
    """Return the columns of a list for its reader; `declared` are those of the workflow it is narrowed to."""
    shown = columns_of(settings, chosen.view)
    own = [name.removeprefix(COLUMN) for name in shown if name.startswith(COLUMN)]
    words = {**WORDS, **WORDS_OF_LISTS.get(chosen.name, {})}
    choices = [Choice(name, word, name in shown) for name, word in words.items()]
    choices += [Choice(f"{COLUMN}{key}", label_of(key), key in own) for key in dict.fromkeys([*own, *declared])]
    cells = [Cell("opened", words["opened"])] if "opened" in shown else []
    cells += [Cell(f"{COLUMN}{key}", label_of(key), key) for key in own]
    changed = settings is not None and chosen.view in (settings.columns or {})
    return Columns(tuple(choices), tuple(cells), frozenset(shown), changed)
