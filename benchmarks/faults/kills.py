"""Kill workers with -9 at every named boundary and at random, while instances run; then account for everything.

Workers are forked one after the other from one warmed parent. Each is either armed, so that it kills itself at a boundary, or is
killed from here after a random while; none of them ends in any other way until the last ones have nothing left to do.
"""

import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from django.db import connection

from benchmarks.faults.accounting import Account, Pattern, learn_pattern, lost_wake_ups, settle
from benchmarks.faults.nursery import Nursery, nursery
from benchmarks.faults.trial import Outcome, Trial
from benchmarks.faults.workload import SOURCES, SOWER, STARTED
from engine.dispatch.crash_points import Boundary
from engine.services.instances.lifecycle import start_instance
from engine.services.people.accounts import create_person
from engine.services.people.tenants_and_roles import create_tenant
from engine.services.templates.versions import activate_version, save_draft
from workflowplatform.accounts.actor import Actor, actor_of

MISSES = 4
"""After so many workers that looked for it in vain, a boundary is given up: the trial will be red."""

PATIENCE_SECONDS = 120.0
"""How long nothing at all may move before the rest is called stuck."""

FEEDING_SECONDS = 0.2
"""How often the trial asks how far things are: it shares the database with what it watches."""

NEAR = """
SELECT count(DISTINCT instance_id) FROM wf_signals
WHERE tenant_id = %s AND due_at < clock_timestamp() + interval '2 seconds'
"""
UNSOWN = """
SELECT count(*) FROM wf_instances i JOIN wf_templates t ON t.id = i.template_id
WHERE i.tenant_id = %s AND t.name = %s AND i.status = 'running'
"""
PROGRESS = """
SELECT count(*) FILTER (WHERE i.ended_at IS NULL), count(*), coalesce(sum(r.state_version), 0)
FROM wf_instances i JOIN wf_runtime_states r ON r.instance_id = i.id WHERE i.tenant_id = %s
"""
CALLS_FALL_DUE = """
UPDATE wf_signals SET due_at = clock_timestamp() WHERE tenant_id = %s AND type = 'CallDue' AND due_at > clock_timestamp()
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of everything."""

    instances: int
    kills: int
    workers: int
    at_hand: int
    """How many instances have something due at any time."""
    longest_life: float
    at_random: float
    """Which part of the workers dies of a kill from outside."""
    patience: float
    """For how many seconds an armed worker may look for its boundary."""
    sows: bool
    """Whether workers start most of the instances."""


@dataclass(slots=True)
class Life:
    """A worker at work, and what it is to die of."""

    boundary: Boundary | None
    ends_at: float
    from_outside: bool = False


@dataclass(slots=True)
class Campaign:
    """One trial under way."""

    plan: Plan
    actor: Actor
    nursery: Nursery
    chance: random.Random = field(default_factory=lambda: random.Random(7))  # noqa: S311  a trial can be repeated
    alive: dict[int, Life] = field(default_factory=dict)
    killed: set[int] = field(default_factory=set)
    hits: Counter[Boundary] = field(default_factory=Counter)
    misses: Counter[Boundary] = field(default_factory=Counter)
    started: list[UUID] = field(default_factory=list)
    deserters: list[str] = field(default_factory=list)
    instances: int = 0
    fed_at: float = 0.0
    moves: int = 0
    moved_at: float = field(default_factory=time.monotonic)

    @property
    def is_done(self) -> bool:
        """Return whether enough was started and killed, and every boundary was hit, or tried often enough without a hit."""
        enough = self.instances >= self.plan.instances and len(self.killed) >= self.plan.kills
        return enough and all(self.hits[boundary] or self.misses[boundary] >= MISSES for boundary in Boundary)

    def rage(self) -> None:
        """Keep workers dying and instances coming until the plan is fulfilled."""
        while not self.is_done:
            if time.monotonic() > self.fed_at + FEEDING_SECONDS:
                self._feed()
            while len(self.alive) < self.plan.workers:
                self._fork()
            self._reap(0.05)
            self._kill_the_old()

    def _feed(self) -> None:
        """Start a few instances, or one that starts many, wherever too few have something to do."""
        if _number(NEAR, self.actor.tenant_id) < self.plan.at_hand and _number(UNSOWN, self.actor.tenant_id, SOWER) < 2:
            self.start((SOWER,) if self.plan.sows else STARTED)
        _, self.instances, moves = _progress(self.actor.tenant_id)
        self.fed_at = time.monotonic()
        if moves != self.moves:
            self.moves, self.moved_at = moves, time.monotonic()

    def start(self, names: Iterable[str]) -> None:
        """Start an instance of each, and remember that it was answered."""
        for name in names:
            self.started.append(start_instance(actor=self.actor, template=name, input={}).instance.pk)

    def _fork(self) -> None:
        boundary = None if self.chance.random() < self.plan.at_random else self._least_met()
        longest = self._longest_life()
        life = self.chance.uniform(0.1, longest) if boundary is None else longest + self.plan.patience
        pid = self.nursery.fork(boundary, self.chance.randint(1, 3) if self.hits[boundary or Boundary.CLAIMED] else 1)
        self.alive[pid] = Life(boundary, time.monotonic() + life)

    def _least_met(self) -> Boundary:
        """Choose a boundary at which few have died and nobody is about to."""
        awaited = Counter(life.boundary for life in self.alive.values())
        return min(Boundary, key=lambda boundary: (self.hits[boundary] + awaited[boundary], self.chance.random()))

    def _longest_life(self) -> float:
        """Let workers live longer where kills are ahead of the work, or so many of them that nothing moves."""
        killed, done = len(self.killed) / self.plan.kills, self.instances / self.plan.instances
        pace = min(max((killed / max(done, 0.001)) ** 2, 0.25), 20.0)
        return self.plan.longest_life * pace + 2 * (time.monotonic() - self.moved_at)

    def _reap(self, seconds: float) -> None:
        for pid, code in self.nursery.collect(seconds).items():
            life = self.alive.pop(pid)
            if code != -signal.SIGKILL:
                self.deserters.append(f"a worker ended by itself, with {code}")
                continue
            self.killed.add(pid)
            if life.boundary is not None:
                (self.misses if life.from_outside else self.hits)[life.boundary] += 1

    def _kill_the_old(self) -> None:
        for pid, life in self.alive.items():
            if time.monotonic() > life.ends_at and not life.from_outside:
                life.from_outside = True
                os.kill(pid, signal.SIGKILL)

    def calm_down(self) -> None:
        """Kill who is left, then let undisturbed workers finish everything."""
        for life in self.alive.values():
            life.ends_at = 0
        while self.alive:
            self._kill_the_old()
            self._reap(0.05)
        # Nobody makes a call now: those that a killed worker had in hand may be made again without waiting for their deadline.
        _execute(CALLS_FALL_DUE, self.actor.tenant_id)
        self.finish()

    def finish(self) -> None:
        """Let a few workers run until all is over or nothing moves."""
        pids = [self.nursery.fork() for _ in range(min(self.plan.workers, 2))]
        last, since = _progress(self.actor.tenant_id), time.monotonic()
        while last[0] and time.monotonic() - since < PATIENCE_SECONDS:
            time.sleep(0.05)
            now = _progress(self.actor.tenant_id)
            last, since = (now, time.monotonic()) if now != last else (last, since)
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
        while pids:
            dead = self.nursery.collect(1.0)
            pids = [pid for pid in pids if pid not in dead]


def _number(sql: str, *values: object) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return int(cursor.fetchone()[0])


def _execute(sql: str, *values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


def _progress(tenant_id: UUID) -> tuple[int, int, int]:
    """Return how many instances are not over, how many there are, and how often any of them moved."""
    with connection.cursor() as cursor:
        cursor.execute(PROGRESS, [tenant_id])
        running, all_of_them, moves = cursor.fetchone()
    return running, all_of_them, moves


def found_tenant(sources: Iterable[str]) -> Actor:
    """Make a tenant of the trial's own, with these workflows active."""
    tenant = create_tenant(actor=None, name="faults", title="Faults")
    actor = actor_of(create_person(actor=None, tenant=tenant, name="fay", level=5))
    for source in sources:
        draft = save_draft(actor=actor, source=source)
        activate_version(actor=actor, name=draft.template.name, number=draft.number)
    return actor


def _run_pattern(campaign: Campaign) -> Pattern:
    """Run one instance of everything undisturbed."""
    campaign.start((SOWER,) if campaign.plan.sows else STARTED)
    campaign.finish()
    return learn_pattern(campaign.actor.tenant_id)


def kill_workers(plan: Plan) -> Outcome:
    """Carry out a plan and account for it."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="wf-faults-") as folder:
        ledger = Path(folder) / "ledger"
        with nursery(str(ledger)) as workers:
            campaign = Campaign(plan, found_tenant(SOURCES.values()), workers)
            workers.warm()
            pattern = _run_pattern(campaign)
            campaign.rage()
            campaign.calm_down()
        account = settle(
            campaign.actor.tenant_id, pattern, ledger=ledger, killed=campaign.killed, started=campaign.started
        )
    return _outcome(campaign, account, time.monotonic() - began)


def _outcome(campaign: Campaign, account: Account, seconds: float) -> Outcome:
    kills, hits = len(campaign.killed), campaign.hits
    faults = [*campaign.deserters, *account.faults]
    faults += [f"no worker ever died at {boundary}" for boundary in Boundary if not hits[boundary]]
    if account.calls > account.intents + kills:
        faults.append(f"{account.calls} calls for {account.intents} attempts and {kills} kills")
    if waking := lost_wake_ups(campaign.actor.tenant_id):
        faults.append(f"{waking} signals are due and nobody was told")
    figures: dict[str, int | float | str] = {
        "instances": account.instances,
        "kills": kills,
        "at boundaries": hits.total(),
        "at random": kills - hits.total(),
        "boundaries met": f"{len(hits)} of {len(Boundary)}, each at least {min(hits.values(), default=0)} times",
        "workers at once": campaign.plan.workers,
        "lost": len(account.lost),
        "doubled": len(account.doubled),
        "stuck": len(account.stuck),
        "outside effects": account.effects,
        "distinct keys called": account.keys,
        "attempts intended": account.intents,
        "calls made": account.calls,
        "seconds": round(seconds),
    }
    return Outcome(figures, tuple(faults))


def run(size: int) -> Outcome:
    """Kill one worker for every ten instances, and at least enough for every boundary."""
    if size < 1_000:
        return kill_workers(
            Plan(size, len(Boundary), workers=3, at_hand=6, longest_life=10.0, at_random=0.1, patience=40.0, sows=False)
        )
    return kill_workers(
        Plan(size, size // 10, workers=8, at_hand=150, longest_life=3.0, at_random=0.4, patience=10.0, sows=True)
    )


TRIALS = (
    Trial(
        name="kills",
        proves="kill -9 of workers at every boundary and at random: nothing lost, doubled or stuck",
        short=40,
        long=10_000,
        run=run,
    ),
)
