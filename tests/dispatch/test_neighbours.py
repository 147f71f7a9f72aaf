"""One tenant's runaway and its neighbour: how long a signal takes until it is applied, alone and next to each runaway.

Real worker processes, one PostgreSQL, one Valkey, and the sender itself share the machine's cores. How quiet and loud are
compared, and what is done where the machine has other work: tests/side_by_side.py.
"""

import time
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from engine.dispatch.fairness import ACTIVE_SECONDS, LARGEST_LOAD, QUIET_TURNS, SHORTEST_TURN, Turn, Turns, cut_to_load
from engine.models import Instance
from tests import workers
from tests.cast import Cast
from tests.dispatch.runaways import (
    LISTENER,
    RUNAWAYS,
    SPIN,
    eventually,
    hold_back,
    is_idle,
    let_go,
    let_loose,
    resident_mb,
    signal_seconds,
)
from tests.flaky import counter
from tests.side_by_side import Comparison, compare, p95, require_below
from tests.workflows import activated, started

BOUND = 2.0
"""How many times longer a neighbour's signal may take next to a runaway (p95)."""
LARGEST_MB = 400

Record = Callable[[str, object], None]


def compared(cast: Cast, kind: str, command: str, count: int) -> tuple[Comparison, float]:
    """Compare the neighbour's seconds alone and next to a runaway; also return the most memory that a worker had, in MB."""
    gwen, sam = cast.actor("gwen"), cast.actor("sam")
    activated(sam, LISTENER)

    def quiet() -> list[float]:
        hold_back(cast.acme)
        signal_seconds(sam, 2)
        return signal_seconds(sam, count)

    def loud() -> list[float]:
        let_go(cast.acme)
        signal_seconds(sam, 2, pause=0.2)
        return signal_seconds(sam, count)

    with workers.running(command, **workers.AS_SHIPPED) as worker:
        signal_seconds(sam, 5)
        let_loose(gwen, RUNAWAYS[kind])
        signal_seconds(sam, 5, pause=0.2)
        found = compare(quiet, loud)
        return found, resident_mb(worker.pid)


@pytest.fixture
def waking(valkey: object, settings: Any) -> None:
    """Let signals wake real workers."""
    settings.WORKFLOW_DISPATCHER = "rq"


@pytest.mark.slow
@pytest.mark.security("one tenant's load leaves its neighbours served")
@pytest.mark.usefixtures("waking")
def test_a_neighbour_of_loops_is_served_by_one_worker_too(committed_cast: Cast, record_property: Record) -> None:
    found, memory = compared(committed_cast, "loops", "rqworker", 20)
    record_property("figure", f"beside loops with one worker: {found}, at most {memory:.0f} MB")
    require_below(BOUND, found)
    assert memory < LARGEST_MB


@pytest.mark.slow
@pytest.mark.security("one tenant's load leaves its neighbours served")
@pytest.mark.usefixtures("waking")
@pytest.mark.parametrize("kind", RUNAWAYS)
def test_every_runaway_leaves_its_neighbour_its_time(committed_cast: Cast, record_property: Record, kind: str) -> None:
    """Two workers, as on a host with two cores."""
    found, memory = compared(committed_cast, kind, "worker", 20)
    record_property("figure", f"beside {kind}: {found}, worker at most {memory:.0f} MB")
    statuses = set(Instance.objects.filter(tenant=committed_cast.acme).values_list("status", flat=True))
    assert "failed" not in statuses
    require_below(BOUND, found)
    assert memory < LARGEST_MB


SPIN_SECONDS, SIGNALS = 30, 20


@pytest.mark.slow
@pytest.mark.security("one tenant's load leaves its neighbours served")
@pytest.mark.usefixtures("waking")
def test_a_function_that_spins_in_its_transaction_holds_one_worker_for_so_long_and_no_neighbour(
    committed_cast: Cast, record_property: Record
) -> None:
    """Nothing ends Python code from inside its process: the supervisor ends the process, and the other one serves meanwhile."""
    gwen, sam, spins = committed_cast.actor("gwen"), committed_cast.actor("sam"), counter("spin")
    spins.unlink(missing_ok=True)
    activated(gwen, SPIN)
    activated(sam, LISTENER)
    bounds = {"WORKFLOW_WORKER_SECONDS": str(SPIN_SECONDS), "WORKFLOW_POISON_ATTEMPTS": "1"}
    with workers.running("worker", **workers.AS_SHIPPED, **bounds):
        signal_seconds(sam, 5)
        quiet = signal_seconds(sam, SIGNALS)
        spinning = started(gwen, "spin")
        assert eventually(spins.exists)
        began = time.monotonic()
        loud = signal_seconds(sam, SIGNALS)
        assert not is_idle(committed_cast.acme)
        assert eventually(lambda: is_idle(committed_cast.acme), 2 * SPIN_SECONDS)
        seconds = time.monotonic() - began
        assert eventually(lambda: Instance.objects.filter(pk=spinning.pk, status="incident").exists())
    record_property(
        "figure",
        f"beside a function that spins in its transaction: {len(loud)} of {SIGNALS} signals served meanwhile, p95 "
        f"{1000 * p95(loud):.0f} ms against {1000 * p95(quiet):.0f} ms quiet; ended after {seconds:.0f} s of {SPIN_SECONDS}",
    )
    assert seconds < SPIN_SECONDS + 10
    assert spins.stat().st_size == 1


def spent(turns: Turns, seconds: float, **steps: int) -> dict[str, Any]:
    """Charge a transaction to tenants that are named here."""
    names = {name: uuid4() for name in steps}
    turn = Turn(instances=50)
    turn.began_at -= seconds
    turn.ran.update({names[name]: count for name, count in steps.items()})
    turns.charge(turn)
    return names


def test_a_tenant_pays_for_the_steps_that_it_ran() -> None:
    turns = Turns()
    names = spent(turns, 1.0, greedy=99, modest=1)
    assert turns.busy() == [names["greedy"]]
    assert turns.for_quiet(turns.busy()).busy == [names["greedy"]]


def test_the_busy_tenant_that_has_had_least_comes_first() -> None:
    turns = Turns()
    names = spent(turns, 2.0, first=60, second=40)
    assert turns.busy() == [names["second"], names["first"]]


def test_what_was_charged_fades(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = Turns()
    names = spent(turns, 1.0, greedy=1)
    turns.accounts[names["greedy"]].at -= 60
    assert turns.busy() == []
    assert turns.accounts == {}


def test_a_turn_holds_what_fitted_before(settings: Any) -> None:
    settings.WORKFLOW_TURN_SECONDS = 0.02
    turns = Turns()
    [tenant_id] = spent(turns, 1.0, greedy=100).values()
    for _ in range(8):
        turn = turns.for_busy(tenant_id)
        turn.began_at -= 0.1
        turn.ran[tenant_id], turn.moved = 100, 4
        turns.charge(turn)
    turn = turns.for_busy(tenant_id)
    assert (turn.instances, 10 <= turn.steps <= 40) == (8, True)
    assert turns.for_quiet([tenant_id]).seconds == QUIET_TURNS * 0.02


def charged(turns: Turns, turn: Turn, seconds: float, tenant_id: UUID, steps: int) -> None:
    """Charge a turn that lasted so long."""
    turn.began_at = time.monotonic() - seconds
    turn.ran[tenant_id], turn.moved = steps, 1
    turns.charge(turn)


def test_a_busy_tenant_takes_turns_as_short_as_those_of_its_quiet_neighbours(settings: Any) -> None:
    settings.WORKFLOW_TURN_SECONDS = 0.02
    turns = Turns()
    [greedy] = spent(turns, 2.0, greedy=100).values()
    assert turns.seconds_for(greedy) == 0.02
    charged(turns, turns.for_quiet([greedy]), 0.008, uuid4(), 3)
    assert turns.seconds_for(greedy) == pytest.approx(0.008, rel=0.1)


def test_turns_do_not_shrink_below_what_a_commit_is_worth(settings: Any) -> None:
    settings.WORKFLOW_TURN_SECONDS = 0.02
    turns = Turns()
    [greedy] = spent(turns, 2.0, greedy=100).values()
    charged(turns, turns.for_quiet([greedy]), 0.0001, uuid4(), 3)
    assert turns.seconds_for(greedy) == SHORTEST_TURN * 0.02


def test_two_tenants_that_have_had_alike_do_not_shorten_each_others_turns(settings: Any) -> None:
    settings.WORKFLOW_TURN_SECONDS = 0.02
    turns = Turns()
    first, second = spent(turns, 2.0, first=50, second=50).values()
    for tenant_id in (first, second):
        charged(turns, turns.for_busy(tenant_id), 0.006, tenant_id, 10)
    assert (turns.seconds_for(first), turns.seconds_for(second)) == (0.02, 0.02)


def test_a_tenant_alone_for_a_while_takes_long_turns_again(settings: Any) -> None:
    settings.WORKFLOW_TURN_SECONDS = 0.02
    turns = Turns()
    [greedy] = spent(turns, 2.0, greedy=100).values()
    charged(turns, turns.for_quiet([greedy]), 0.008, uuid4(), 3)
    turns.quiet.at -= ACTIVE_SECONDS
    assert turns.seconds_for(greedy) == 0.02


def test_no_more_is_loaded_together_than_fits_into_memory() -> None:
    names = [uuid4() for _ in range(4)]
    large, half = LARGEST_LOAD * 3, LARGEST_LOAD // 2
    assert cut_to_load([(names[0], large), (names[1], 1)]) == names[:1]
    assert cut_to_load([(name, half) for name in names]) == names[:2]
