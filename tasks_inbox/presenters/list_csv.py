"""A list of tasks as CSV, in the reader's language, zone and way of writing: for table programs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import partial
from typing import Any

from django.utils import timezone, translation
from django.utils.dateformat import format as date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from engine.diagram.step_names import label_of
from engine.models import Task
from engine.presentation.forms.numbers import measure_text
from engine.presentation.forms.values import shown
from engine.presentation.narrative.people_names import name_of, names_shown, said
from engine.services.csv_cells import csv_line
from engine.services.tasks.list_exports import MOST_EXPORTED, exported_tasks
from engine.services.tasks.lists import TaskList
from tasks_inbox.presenters.filters import PRIORITY_WORDS
from tasks_inbox.presenters.lists import UNSEEN
from tasks_inbox.templatetags.look import WORD_OF_STATUS, answer_title, case_name

MARK = "\ufeff"
"""Tells table programs that the file is UTF-8."""
SEPARATORS = {"de": ";"}
"""German table programs read a comma as part of a number."""
MOMENTS = {"de": "d.m.Y H:i"}
A_MOMENT = "Y-m-d H:i"

Field = tuple[Any, Callable[[Task], Any]]


@dataclass(frozen=True, slots=True)
class ListFile:
    """One list to write: its rows, the columns that its authors declare, and where its tasks are opened."""

    tasks: TaskList
    declared: Sequence[str]
    task_address: Callable[[Any], str]

    def chunks(self) -> Iterator[bytes]:
        """Write the file portion by portion, for the person who asks now: most of it is made after their request is over."""
        return self._portions(timezone.get_current_timezone(), translation.get_language() or "en")

    def _portions(self, zone: tzinfo, language: str) -> Iterator[bytes]:
        yield self._said(zone, language, lambda: MARK + self._head())
        for rows, more in exported_tasks(self.tasks, without=UNSEEN):
            yield self._said(zone, language, partial(self._lines, rows, more))

    def _said(self, zone: tzinfo, language: str, make: Callable[[], str]) -> bytes:
        """Make a portion whole in the reader's language and zone: neither holds on while it is sent."""
        with timezone.override(zone), translation.override(language), names_shown(self.tasks.actor.tenant_id):
            return make().encode()

    def _head(self) -> str:
        zone = timezone.get_current_timezone_name()
        return _line([*(str(heading) % {"zone": zone} for heading, _value in self._fields()), _("Address")])

    def _lines(self, rows: Sequence[Task], more: bool) -> str:
        fields = self._fields()
        lines = [_line([*(value(task) for _heading, value in fields), self.task_address(task.pk)]) for task in rows]
        if more:
            lines.append(
                _line([_("Only the first %(most)s rows are in this file.") % {"most": measure_text(MOST_EXPORTED)}])
            )
        return "".join(lines)

    def _fields(self) -> list[Field]:
        if not self.declared:
            return [*FIELDS, (gettext_lazy("Details"), lambda task: ", ".join(map(shown, task.columns.values())))]
        return [*FIELDS, *((label_of(name).replace("%", "%%"), _declared(name)) for name in self.declared)]


def result_file(rows: Sequence[tuple[dict[str, Any], Task | None]], task_address: Callable[[Any], str]) -> bytes:
    """Write what became of the tasks of a bulk action: one line each, in the reader's language."""
    lines = [[_("Task"), _("Reference"), _("Result"), _("Reason"), _("Address")]]
    for result, task in rows:
        about = [said(task.title), task.business_reference or ""] if task else ["", ""]
        became = [_("Not done") if result["code"] else _("Done"), result["message"]]
        lines.append([*about, *became, task_address(result["task"])])
    return (MARK + "".join(map(_line, lines))).encode()


def _declared(name: str) -> Callable[[Task], str]:
    return lambda task: shown(task.columns[name]) if name in task.columns else ""


def _line(cells: Sequence[Any]) -> str:
    return csv_line(cells, SEPARATORS.get(translation.get_language() or "", ","))


def _moment(at: datetime | None) -> str:
    form = MOMENTS.get(translation.get_language() or "", A_MOMENT)
    return date_format(timezone.localtime(at), form) if at else ""


def _offered(task: Task) -> str:
    return ", ".join([*map(label_of, task.effective_roles), *map(name_of, task.users)])


FIELDS: tuple[Field, ...] = (
    (gettext_lazy("Task"), lambda task: said(task.title)),
    (gettext_lazy("Reference"), lambda task: task.business_reference),
    (gettext_lazy("Case"), lambda task: case_name(task.instance)),
    (gettext_lazy("Workflow"), lambda task: str(task.version.template)),
    (gettext_lazy("Status"), lambda task: WORD_OF_STATUS.get(task.status, task.status)),
    (gettext_lazy("Priority"), lambda task: PRIORITY_WORDS[task.priority_name]),
    (gettext_lazy("Started by"), lambda task: name_of(task.instance.started_by_name or "")),
    (gettext_lazy("Assignee"), lambda task: task.assignee.display_name if task.assignee else ""),
    (gettext_lazy("Offered to"), _offered),
    (gettext_lazy("Open since (%(zone)s)"), lambda task: _moment(task.created_at)),
    (gettext_lazy("Due (%(zone)s)"), lambda task: _moment(task.due_at)),
    (gettext_lazy("Completed (%(zone)s)"), lambda task: _moment(task.completed_at)),
    (gettext_lazy("Answer"), lambda task: answer_title(task) if task.outcome else ""),
)
"""What every row says, each with its heading; declared columns follow, and the task's address."""
