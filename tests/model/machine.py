"""The formal model, played by chance against the real services, the real drain and the real database.

Every rule is one action: it asks the model how the services must answer, acts, and compares. After each all invariants are held
against the tables. In the end the outside is well, time passes, and everything must run dry.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.dispatch.crash_points import Boundary
from engine.models import Instance, Schedule, Task
from engine.models.schedule import CATCH_UPS, OVERLAPS
from engine.services.instances.events import AcceptedEvent, accept_event
from engine.services.instances.lifecycle import StartedInstance, cancel_instance, start_instance
from engine.services.instances.repair import resume_instance, retry_step, suspend_instance
from engine.services.instances.signals import send_signal
from engine.services.people.accounts import change_level
from engine.services.schedules import lifecycle as schedules
from engine.services.tasks.lifecycle import claim_task, complete_task, release_task
from engine.services.templates import versions as templates
from tests.model import model
from tests.model.dry import run_dry
from tests.model.invariants import check
from tests.model.model import LIVE, OPEN_TASK, OVER, Answer
from tests.model.outside import Mood, set_mood
from tests.model.templates import TEMPLATES
from tests.model.world import EVERYBODY, World
from workflowplatform.accounts.actor import Actor

Row = TypeVar("Row")

anybody = st.sampled_from((*EVERYBODY, "gwen", "gwen", "ada", "ada", "adam"))
"""Those who may do most come most often: an act that is refused leads nowhere new."""
names = st.sampled_from(sorted(TEMPLATES))
picks = st.integers(0, 99)
BELOW_GWEN = ("gus", "ada", "adam", "uri")
MOST_VERSIONS = 3

DEATHS = tuple(
    boundary
    for boundary in Boundary
    if not boundary.startswith("step ") or boundary.removeprefix("step ") in {"set", "call", "task", "wait"}
)
"""Where a worker dies: everywhere but at the kinds of step that none begins here."""


def chosen(rows: Sequence[Row], pick: int) -> Row:
    """Take one of what there is."""
    return rows[pick % len(rows)]


def _start(actor: Actor, name: str) -> StartedInstance:
    return start_instance(actor=actor, template=name, input={})


def _announce(actor: Actor, name: str) -> AcceptedEvent:
    return accept_event(actor=actor, name="order", external_id=f"first-{name}", payload={})


class Machine(RuleBasedStateMachine):
    """Thirteen actions of the formal model, and those that people, clocks and accidents add."""

    make_world: ClassVar[Callable[[], World]]
    """Environment by the test that runs the machine."""

    def __init__(self) -> None:
        super().__init__()
        self.world = type(self).make_world()
        self.events = 0

    @initialize(first=st.lists(names, min_size=2, max_size=4, unique=True))
    def author_some(self, first: list[str]) -> None:
        for name in first:
            self.world.author(name)
            begin = _announce if TEMPLATES[name].heard else _start
            self.world.attempt(
                "ada", Answer.DONE, lambda actor, name=name, begin=begin: begin(actor, name), "start_workflow"
            )

    def _known(self, pick: int) -> str:
        """Choose a template: mostly an active one."""
        book = self.world.book
        known = sorted(book.versions)
        return chosen([name for name in known if book.in_force(name) and pick < 90] or known, pick)

    # Authors

    @rule(who=anybody.filter(lambda name: name not in ("sam", "stan")), name=names)
    def create(self, who: str, name: str) -> None:
        if not self._can_be_authored(name) or len(self.world.book.versions.get(name, ())) >= MOST_VERSIONS:
            return
        self.world.create(who, name, model.create(self.world.person(who)))

    def _can_be_authored(self, name: str) -> bool:
        return all(self.world.book.in_force(needed) == "active" for needed in TEMPLATES[name].before)

    @rule(who=anybody, pick=picks)
    def activate(self, who: str, pick: int) -> None:
        name = self._known(pick)
        if not self._can_be_authored(name):
            return
        held = self.world.book.versions[name]
        number = len(held)
        wanted = ("draft", "paused")
        expected = model.author(self.world.person(who), status=held[number - 1], wanted=wanted)
        self.world.activate(who, name, number, expected)

    def _move(self, who: str, pick: int, verb: Callable[..., Any], wanted: str, status: str, act: str) -> None:
        name = self._known(pick)
        held = self.world.book.versions[name]
        number = next((place for place, now in enumerate(held, 1) if now in ("active", "paused")), len(held))
        allowed = [now for now in wanted.split() if now in held]
        expected = model.author(self.world.person(who), status=held[number - 1], wanted=allowed)
        self.world.attempt(who, expected, lambda actor: verb(actor=actor, name=name, number=number), act)
        if expected is Answer.DONE:
            self.world.book.move(name, number, status)

    @rule(who=anybody, pick=picks)
    def pause(self, who: str, pick: int) -> None:
        self._move(who, pick, templates.pause_version, "active", "paused", "pause_template")

    @rule(who=anybody, pick=picks)
    def resume(self, who: str, pick: int) -> None:
        self._move(who, pick, templates.resume_version, "paused", "active", "resume_template")

    @precondition(lambda self: sum(map(bool, map(self.world.book.in_force, self.world.book.versions))) > 1)
    @rule(who=anybody, pick=picks)
    def archive(self, who: str, pick: int) -> None:
        book, name = self.world.book, self._known(pick)
        used = any(book.in_force(other) for other, template in TEMPLATES.items() if name in template.before)
        self._move(
            who, pick, templates.archive_version, "" if used else "active paused", "archived", "archive_template"
        )

    @rule(who=anybody, whom=st.sampled_from(BELOW_GWEN), level=st.sampled_from((2, 4, 5)))
    def demote(self, who: str, whom: str, level: int) -> None:
        person, other = self.world.person(who), self.world.person(whom)
        expected = model.change_level(person, other, level)
        acts = () if other.level == level else ("change_level",)
        user = self.world.people[whom]
        self.world.attempt(who, expected, lambda actor: change_level(actor=actor, person=user, level=level), *acts)

    # Operators

    @rule(who=anybody, pick=picks, times=st.integers(1, 3))
    def start(self, who: str, pick: int, times: int) -> None:
        for _ in range(times):
            self._start_one(who, self._known(pick))

    def _start_one(self, who: str, name: str) -> None:
        template, room = TEMPLATES[name], self.world.room(name)
        expected = model.start(
            self.world.person(who),
            status=self.world.book.standing(name),
            floor=template.floor,
            room=room,
            refuses=template.refuses,
            heard=template.heard,
        )
        begun = self.world.attempt(who, expected, lambda actor: _start(actor, name), "start_workflow")
        if begun:
            assert (begun.instance.status == "queued") == (room == 0)

    @rule(who=anybody, again=st.booleans())
    def announce(self, who: str, again: bool) -> None:
        """Send an event, at times one that was sent before: its template starts once."""
        self.events += not (again and self.events)
        external_id = f"order-{self.events}"
        act = lambda actor: accept_event(actor=actor, name="order", external_id=external_id, payload={})  # noqa: E731
        expected = model.send(self.world.person(who))
        first = self.world.attempt(who, expected, act)
        if first:
            listening = self.world.book.in_force("listening") == "active"
            assert again or len(first.started) == (listening and not self.world.person(who).foreign)
            assert act(self.world.actor(who)) == first

    @precondition(lambda self: self.world.glance.has())
    @rule(who=anybody, pick=picks)
    def cancel(self, who: str, pick: int) -> None:
        self._operate(who, pick, LIVE, lambda actor, id_: cancel_instance(actor=actor, instance_id=id_, reason="no"),
                      "cancel_workflow")  # fmt: skip

    @precondition(lambda self: self.world.glance.has())
    @rule(who=anybody, pick=picks)
    def suspend(self, who: str, pick: int) -> None:
        self._operate(who, pick, ("running", "incident"),
                      lambda actor, id_: suspend_instance(actor=actor, instance_id=id_), "suspend_workflow")  # fmt: skip

    @precondition(lambda self: self.world.glance.has("suspended"))
    @rule(who=anybody, pick=picks)
    def go_on(self, who: str, pick: int) -> None:
        self._operate(who, pick, ("suspended",), lambda actor, id_: resume_instance(actor=actor, instance_id=id_),
                      "resume_workflow", among=("suspended",))  # fmt: skip

    @precondition(lambda self: self.world.glance.has("incident"))
    @rule(who=anybody, pick=picks)
    def retry(self, who: str, pick: int) -> None:
        """Have a failed step tried again; it counts beyond what the author allows."""
        instance = self._instance(pick, ("incident",))
        retries = self.world.book.retries
        retries[str(instance.pk)] = retries.get(str(instance.pk), 0) + 1
        self._operate(who, pick, ("incident",), lambda actor, id_: retry_step(actor=actor, instance_id=id_),
                      "retry_workflow", among=("incident",))  # fmt: skip

    def _instance(self, pick: int, among: Iterable[str] = LIVE) -> Instance:
        """Choose an instance: mostly one of those that are meant."""
        return chosen((self.world.instances(*among) if pick < 80 else []) or self.world.instances(), pick)

    def _operate(
        self,
        who: str,
        pick: int,
        wanted: Any,
        act: Callable[[Actor, Any], Any],
        *acts: str,
        among: Iterable[str] = LIVE,
    ) -> None:
        instance = self._instance(pick, among)
        expected = model.operate(
            self.world.person(who), starter=instance.started_by_name, status=instance.status, wanted=wanted
        )
        self.world.attempt(who, expected, lambda actor: act(actor, instance.pk), *acts)

    @precondition(lambda self: self.world.glance.has())
    @rule(who=anybody, pick=picks)
    def signal(self, who: str, pick: int) -> None:
        """Send a named signal, always under the same id: each sender gets the first answer again, and no second effect."""
        instance = self._instance(pick)
        sender = f"{instance.pk} {who}"
        earlier = self.world.book.sent.get(sender)
        expected = model.operate(
            self.world.person(who),
            starter=instance.started_by_name,
            status=instance.status,
            wanted=LIVE | OVER if earlier else LIVE - {"queued"},
        )
        before = self.world.last_row()
        sent = self.world.attempt(
            who,
            expected,
            lambda actor: send_signal(actor=actor, instance_id=instance.pk, name="paid", signal_id="one"),
            *(() if earlier else ("send_signal",)),
        )
        if sent:
            assert sent == self.world.book.sent.setdefault(sender, sent)
            assert not earlier or self.world.last_row() == before

    # The clock

    @rule(
        who=anybody,
        pick=picks,
        overlap=st.sampled_from(OVERLAPS),
        catch_up=st.sampled_from(CATCH_UPS),
        once=st.booleans(),
    )
    def schedule(self, who: str, pick: int, overlap: str, catch_up: str, once: bool) -> None:
        name = self._known(pick)
        person, status = self.world.person(who), self.world.book.standing(name)
        expected = model.schedule(person, status=status, floor=TEMPLATES[name].floor, heard=TEMPLATES[name].heard)
        when = {"once_at": self.world.clock.at + timedelta(minutes=2)} if once else {"cron": "* * * * *"}
        made = self.world.attempt(
            who,
            expected,
            lambda actor: schedules.create_schedule(
                actor=actor, template=name, overlap=overlap, catch_up=catch_up, **when
            ),
            "schedule_workflow",
        )
        if made:
            self.world.book.since[str(made.pk)] = self.world.clock.at

    @precondition(lambda self: self.world.glance.others.get("schedule"))
    @rule(minutes=st.sampled_from((1, 2, 5)))
    def trigger(self, minutes: int) -> None:
        """Let slots fall due and a worker look."""
        self.world.pass_time(60 * minutes)
        self.world.work()

    @precondition(lambda self: self.world.glance.others.get("schedule"))
    @rule(who=anybody, pick=picks, on=st.booleans())
    def hold_schedule(self, who: str, pick: int, on: bool) -> None:
        found: Schedule = chosen(self.world.schedules(), pick)
        verb, wanted = (schedules.resume_schedule, "paused") if on else (schedules.pause_schedule, "active")
        expected = model.change_schedule(self.world.person(who), status=found.status, wanted=(wanted,))
        act = "resume_schedule" if on else "pause_schedule"
        self.world.attempt(who, expected, lambda actor: verb(actor=actor, schedule_id=found.pk), act)

    @rule(seconds=st.sampled_from((1, 11, 31, 61, 3601)))
    def pass_time(self, seconds: int) -> None:
        self.world.pass_time(seconds)

    # Workers

    @rule()
    def execute(self) -> None:
        self.world.work()

    @precondition(lambda self: self.world.glance.others.get("due"))
    @rule()
    def complete_step(self) -> None:
        """Let the next due step succeed, if it can."""
        set_mood(Mood.WELL)
        self._next_due()

    @precondition(lambda self: self.world.glance.others.get("due"))
    @rule()
    def fail_step(self) -> None:
        """Let whatever calls next find nobody there."""
        set_mood(Mood.DOWN)
        self._next_due()

    def _next_due(self) -> None:
        self.world.pass_to(self.world.due_ahead()[0])
        self.world.work()

    @precondition(lambda self: self.world.glance.has("running"))
    @rule(pick=picks)
    def complete(self, pick: int) -> None:
        """Let an instance go as far as time and a friendly outside take it: to its end, or to a person."""
        set_mood(Mood.WELL)
        instance = chosen(self.world.instances("running"), pick)
        for _ in range(20):
            self.world.work()
            if not (ahead := self.world.due_ahead([instance])):
                break
            self.world.pass_to(ahead[0])
        instance.refresh_from_db()
        kinds = set(instance.waits.filter(side=False).values_list("kind", flat=True))
        assert instance.status in OVER | {"incident"} or kinds & {"task", "signal", "child"}

    @precondition(lambda self: self.world.glance.others.get("call"))
    @rule(pick=picks)
    def fail(self, pick: int) -> None:
        """Let the outside say no: a business error, which nobody retries, ends the instance unless it is caught."""
        set_mood(Mood.REFUSING)
        signal = chosen([signal for signal in self.world.due_ahead() if signal.type == "CallDue"], pick)
        self.world.pass_to(signal)
        self.world.work()
        signal.instance.refresh_from_db()
        if signal.instance.template.name in ("retried", "nightly"):
            assert signal.instance.status == "failed"

    @precondition(lambda self: self.world.glance.others.get("due"))
    @rule(boundary=st.sampled_from(DEATHS))
    def kill_worker(self, boundary: Boundary) -> None:
        self.world.pass_to(self.world.due_ahead()[0])
        self.world.work_and_die(boundary)

    @precondition(lambda self: self.world.glance.others.get("due"))
    @rule(pick=picks)
    def duplicate_signal(self, pick: int) -> None:
        self.world.copy(chosen(self.world.due_ahead(), pick))

    # People at work

    def _task(self, pick: int) -> Task:
        """Choose a task: mostly one that is open."""
        tasks = self.world.tasks()
        return chosen([task for task in tasks if task.status in OPEN_TASK and pick < 80] or tasks, pick)

    @precondition(lambda self: self.world.glance.others.get("task"))
    @rule(who=anybody, pick=picks)
    def claim(self, who: str, pick: int) -> None:
        task = self._task(pick)
        acts = () if task.status == "claimed" else ("task_claimed",)
        expected = model.take(self.world.person(who), self.world.offer(task))
        self.world.attempt(who, expected, lambda actor: claim_task(actor=actor, task_id=task.pk), *acts)

    @precondition(lambda self: self.world.glance.others.get("task"))
    @rule(who=anybody, pick=picks)
    def release(self, who: str, pick: int) -> None:
        task = self._task(pick)
        expected = model.release(self.world.person(who), self.world.offer(task))
        self.world.attempt(who, expected, lambda actor: release_task(actor=actor, task_id=task.pk), "task_released")

    @precondition(lambda self: self.world.glance.others.get("task"))
    @rule(who=anybody, pick=picks)
    def complete_task(self, who: str, pick: int) -> None:
        task = self._task(pick)
        expected = model.complete(self.world.person(who), self.world.offer(task))
        self.world.attempt(who, expected, lambda actor: complete_task(actor=actor, task_id=task.pk), "task_completed")

    # Always

    @invariant()
    def everything_holds(self) -> None:
        check(self.world)

    def teardown(self) -> None:
        """In the end let everything run dry, unless something was wrong already."""
        if self.world.sound:
            run_dry(self.world)
