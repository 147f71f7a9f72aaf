"""When an answer and the end of a request can be expected, and why: from how long it usually took."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from engine.diagram.step_names import label_of
from engine.models import Instance, Task, Wait
from engine.presentation.narrative.relative_times import last_day_words, moment_words, span_words
from engine.presentation.narrative.status_summary import in_order, task_at
from engine.services.insights.durations import UsualTimes


def expectation_of(
    instance: Instance, waits: Iterable[Wait], tasks: Iterable[Task], usual: UsualTimes, now: datetime
) -> str:
    """Tell the starter of a running case until when to expect the next answer, and the end; empty where nothing is known."""
    if instance.status != "running":
        return ""
    held = in_order(waits)
    task = task_at(held[0], tasks) if held else None
    answer = _answer(task, usual.steps.get(task.step), now) if task else ""
    return f"{answer} {_end(instance, usual.whole, now)}".strip()


def _answer(task: Task, usual: timedelta | None, now: datetime) -> str:
    if usual is None:
        return ""
    by = task.created_at + usual
    words = {"who": _deciders(task), "time": span_words(usual), "when": moment_words(by, now)}
    if by <= now:
        words["who"] = words["who"][:1].upper() + words["who"][1:]
        return _("%(who)s usually takes %(time)s; this time it takes longer.") % words
    return _("Expect an answer by %(when)s; %(who)s usually takes %(time)s.") % words


def _deciders(task: Task) -> str:
    """Name the role whose usual time it is; people are not measured one by one."""
    roles = task.effective_roles
    return label_of(roles[0]) if len(roles) == 1 else _("this step")


def _end(instance: Instance, usual: timedelta | None, now: datetime) -> str:
    if usual is None or instance.started_at + usual <= now:
        return ""
    words = {"when": last_day_words(instance.started_at + usual, now), "time": span_words(usual)}
    return _("All of it is usually done after %(time)s: expect the end around %(when)s.") % words
