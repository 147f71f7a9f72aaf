"""All resource patterns and the business patterns, played through the services: who may act, and what is offered to whom."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import Q

from engine import access
from engine.errors import NotFound
from engine.kernel.definition import compile_definition
from engine.kernel.effects import PRIORITIES
from engine.kernel.language.normalizer import normalize
from engine.kernel.timing.periods import parse_period
from engine.models import Instance, Task
from engine.runtime import task_effects
from engine.services.tasks.assignment import assign_task, take_next_task
from engine.services.tasks.drafts import discard_task_draft, draft_for, save_task_draft
from engine.services.tasks.handover import ask_about_task, delegate_task, return_task
from engine.services.tasks.lifecycle import complete_task
from engine.services.tasks.lists import list_named
from engine.services.tasks.suspension import resume_task, snooze_task, suspend_task
from tests.conformance.real_tenant import RealTenant
from tests.patterns.resources import PEOPLE, Line, ResourcePattern, read_resources
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.ids import keep_time

MONDAY = datetime(2030, 1, 7, 9, tzinfo=UTC)
PATTERNS = read_resources()


@pytest.fixture
def tenant(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[RealTenant]:
    """Provide a tenant with everybody of the book, under a stopped clock."""
    found = RealTenant.found(MONDAY)
    for person in PEOPLE.values():
        found.add_person(person)
    monkeypatch.setattr(task_effects, "draw", lambda number: 0)
    yield found
    keep_time(datetime.now(UTC))


class Play:
    """One play of a pattern."""

    def __init__(self, tenant: RealTenant, pattern: ResourcePattern) -> None:
        self.tenant, self.now = tenant, MONDAY
        found = normalize(pattern.source)
        assert found.canonical is not None, found.findings
        tenant.install([compile_definition(json.loads(json.dumps(found.canonical)))])

    def do(self, line: Line) -> str:
        """Do an act; tell what is there then."""
        for pattern, act in ACTS.items():
            found = re.fullmatch(pattern, line.act)
            if found is not None:
                said = act(self, **found.groupdict())
                return self.told() if said is None else said
        raise AssertionError(f"no act is written as `{line.act}`")

    def attempt(self, who: str, act: Callable[[Actor], Any]) -> str | None:
        """Do an act as a person; tell only a refusal."""
        code = self.tenant.attempt(PEOPLE[who], act)[1]
        return f"refused as {code}" if code else None

    def actor(self, who: str) -> Actor:
        return actor_of(self.tenant.people[who])

    # Tasks by their names

    def cases(self) -> list[Instance]:
        return list(Instance.objects.filter(tenant=self.tenant.tenant).order_by("started_at", "id"))

    def task(self, name: str) -> Task:
        step, iteration, case = re.fullmatch(r"(\w+)((?:\[\d+\])?)(?:#(\d+))?", name).groups()  # type: ignore[union-attr]
        instance = self.cases()[int(case or 1) - 1]
        runs = Task.objects.filter(instance=instance, step=step, iteration__regex=rf"^{re.escape(iteration)}(#\d+)?$")
        return runs.latest("id")

    def name_of(self, task: Task) -> str:
        place = [one.pk for one in self.cases()].index(task.instance_id) + 1
        iteration = re.sub(r"#\d+$", "", task.iteration)  # `#2` is the second case here
        return f"{task.step}{iteration}" + (f"#{place}" if place > 1 else "")

    def told(self) -> str:
        """Return the open tasks and whose they are; where none is open, how the last case ended."""
        tasks = Task.objects.open().filter(tenant=self.tenant.tenant).select_related("assignee", "instance", "version")
        if tasks:
            return ", ".join(sorted(f"{self.name_of(task)} {self._whose(task)}" for task in tasks))
        cases = self.cases()
        return str(cases[-1].status) if cases else "nothing open"

    def _whose(self, task: Task) -> str:
        if task.status == "suspended":
            return "suspended"
        if task.assignee is None:
            fitting = access.people_fit_for(task).filter(username__in=PEOPLE)
            return "for " + " or ".join(person.username for person in fitting)
        word = "claimed by" if task.status == "claimed" else "assigned to"
        waiting = f", waiting for {task.waiting_for_name}" if task.waiting_since else ""
        return f"{word} {task.assignee.username}{waiting}"


# Acts


def _start(play: Play, who: str, given: str | None) -> str | None:
    values = json.loads(given or "{}")
    play.now += timedelta(seconds=1)
    play.tenant.put_clock(play.now)
    play.tenant.start(PEOPLE[who], "tried", values)
    return None


def _complete(play: Play, who: str, task: str, outcome: str | None, following: str | None) -> str | None:
    found = play.task(task)
    said = play.attempt(who, lambda actor: complete_task(actor=actor, task_id=found.pk, outcome=outcome))
    return said or (_take_next(play, who) if following else None)


def _take_next(play: Play, who: str) -> str | None:
    return play.attempt(who, lambda actor: take_next_task(actor=actor, template="tried"))


def _by_house(word: str) -> Callable[..., str | None]:
    def act(play: Play, who: str, task: str) -> str | None:
        code = getattr(play.tenant, word)(PEOPLE[who], play.task(task))
        return f"refused as {code}" if code else None

    return act


def _by_service(service: Callable[..., Any], **given: Any) -> Callable[..., str | None]:
    def act(play: Play, who: str, task: str, **more: Any) -> str | None:
        found = play.task(task)
        return play.attempt(who, lambda actor: service(actor=actor, task_id=found.pk, **given, **more))

    return act


def _skip(play: Play, who: str, task: str) -> str | None:
    code = play.tenant.skip(PEOPLE[who], play.task(task), "not needed")
    return f"refused as {code}" if code else None


def _snooze(play: Play, who: str, task: str) -> str | None:
    found, until = play.task(task), datetime.now(UTC) + timedelta(days=36_500)
    return play.attempt(who, lambda actor: snooze_task(actor=actor, task_id=found.pk, until=until))


def _draft(play: Play, who: str, task: str, given: str) -> str | None:
    found, values = play.task(task), json.loads(given)
    return play.attempt(who, lambda actor: save_task_draft(actor=actor, task_id=found.pk, values=values))


def _open(play: Play, who: str, task: str) -> str:
    draft = draft_for(actor=play.actor(who), task_id=play.task(task).pk)
    return json.dumps(draft.values) if draft else "an empty form"


def _list(play: Play, who: str, view: str, order: str | None, priority: str | None) -> str:
    conditions = [Q(priority=PRIORITIES.index(priority))] if priority else []
    rows = list_named(play.actor(who), view, conditions, order or "").page(None, 10).rows
    return ", ".join(play.name_of(task) for task in rows) or "nothing"


def _see(play: Play, who: str, task: str) -> str:
    try:
        access.task_of(play.actor(who), play.task(task).pk)
    except NotFound:
        return "no"
    return "yes"


def _pass(play: Play, period: str) -> None:
    play.now = parse_period(period).after(play.now)
    play.tenant.put_clock(play.now)
    play.tenant.work()


def _draw(play: Play, number: str) -> None:
    task_effects.draw = lambda _most: int(number)


WHO, TASK = r"(?P<who>\w+)", r"(?P<task>[\w\[\]#]+)"
ACTS: Mapping[str, Callable[..., str | None]] = {
    rf"{WHO} starts(?: (?P<given>.*))?": _start,
    rf"{WHO} completes {TASK}(?: as (?P<outcome>\w+))?(?P<following> and takes the next)?": _complete,
    rf"{WHO} takes the next": _take_next,
    rf"{WHO} claims {TASK}": _by_house("claim"),
    rf"{WHO} releases {TASK}": _by_house("release"),
    rf"{WHO} skips {TASK}": _skip,
    rf"{WHO} redoes {TASK}": _by_house("redo"),
    rf"{WHO} gives {TASK} to (?P<person>\w+)": _by_service(assign_task),
    rf"{WHO} delegates {TASK} to (?P<user>\w+)": _by_service(delegate_task),
    rf"{WHO} asks (?P<user>\w+) about {TASK}": _by_service(ask_about_task, question="How?"),
    rf"{WHO} returns {TASK}": _by_service(return_task, note="So."),
    rf"{WHO} suspends {TASK}": _by_service(suspend_task),
    rf"{WHO} resumes {TASK}": _by_service(resume_task),
    rf"{WHO} snoozes {TASK}": _snooze,
    rf"{WHO} drafts {TASK} (?P<given>.*)": _draft,
    rf"{WHO} discards the draft of {TASK}": _by_service(discard_task_draft),
    rf"{WHO} opens {TASK}": _open,
    rf"{WHO} lists (?P<view>\w+)(?: (?P<order>newest))?(?: with priority=(?P<priority>\w+))?": _list,
    rf"{WHO} sees {TASK}": _see,
    r"(?P<period>P\w+) pass": _pass,
    r"the draw is (?P<number>\d)": _draw,
}
"""How acts are written, and what does them."""


def test_all_forty_three_are_there_and_at_least_forty_one_pass() -> None:
    numbered = [one for one in PATTERNS if one.number]
    assert [one.number for one in numbered] == list(range(1, 44))
    assert all(bool(one.plays) != bool(one.reason) for one in PATTERNS), "played, or not supported for a reason"
    assert sum(bool(one.plays) for one in numbered) >= 41


@pytest.mark.parametrize(
    ("pattern", "place"),
    [pytest.param(one, place, id=f"{one.title} {place + 1}") for one in PATTERNS for place in range(len(one.plays))],
)
def test_pattern_plays_as_its_book_tells(tenant: RealTenant, pattern: ResourcePattern, place: int) -> None:
    played = Play(tenant, pattern)
    for line in pattern.plays[place]:
        assert played.do(line) == line.then, line.act
