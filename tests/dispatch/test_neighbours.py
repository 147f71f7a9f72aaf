"""One tenant's runaway and its neighbour: how long a signal takes until it is applied, quiet and beside each runaway.

Real worker processes, one PostgreSQL, one Valkey, and the sender itself share the machine's cores. The short form has generous
bounds, for machines that do other things too; `slow` measures every runaway in one run and prints the ratios.
"""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from engine.dispatch.fairness import LARGEST_LOAD, QUIET_TURNS, Turn, Turns, cut_to_load
from engine.models import Instance
from tests import workers
from tests.cast import Cast
from tests.dispatch.runaways import LISTENER, RUNAWAYS, let_loose, p95, resident_mb, signal_seconds
from tests.workflows import activated

SHORT = ("loops",)
PATIENT = 1.0
"""Seconds: beyond this a neighbour waits for somebody else, however busy the machine is. Before turns it was 1.2 to 12."""
LARGEST_MB = 400

Record = Callable[[str, object], None]


def measured(cast: Cast, kind: str, command: str, count: int) -> tuple[list[float], list[float], float]:
    """Return the neighbour's seconds quiet and beside a runaway, and the most memory that the worker had in MB."""
    gwen, sam = cast.actor("gwen"), cast.actor("sam")
    activated(sam, LISTENER)
    with workers.running(command, **workers.AS_SHIPPED) as worker:
        signal_seconds(sam, 5)
        quiet = signal_seconds(sam, count)
        let_loose(gwen, RUNAWAYS[kind])
        signal_seconds(sam, 5, pause=0.2)
        loud = signal_seconds(sam, count)
        return quiet, loud, resident_mb(worker.pid)


def figure(kind: str, quiet: list[float], loud: list[float], memory: float) -> str:
    told = f"p95 {p95(loud) * 1000:.0f} ms beside {kind}, {p95(quiet) * 1000:.0f} ms quiet"
    return f"{told} ({p95(loud) / p95(quiet):.1f} ×), worker at most {memory:.0f} MB"


@pytest.fixture
def waking(valkey: object, settings: Any) -> None:
    """Let signals wake real workers."""
    settings.WORKFLOW_DISPATCHER = "rq"


@pytest.mark.security("one tenant's load leaves its neighbours served")
@pytest.mark.usefixtures("waking")
@pytest.mark.parametrize("kind", SHORT)
def test_a_runaway_delays_its_neighbour_by_a_turn_at_most(
    committed_cast: Cast, record_property: Record, kind: str
) -> None:
    quiet, loud, memory = measured(committed_cast, kind, "rqworker", 12)
    record_property("figure", figure(kind, quiet, loud, memory))
    assert sorted(loud)[len(loud) // 2] < PATIENT / 4
    assert p95(loud) < PATIENT
    assert memory < LARGEST_MB


@pytest.mark.slow
@pytest.mark.security("one tenant's load leaves its neighbours served")
@pytest.mark.usefixtures("waking")
@pytest.mark.parametrize("kind", RUNAWAYS)
def test_every_runaway_leaves_its_neighbour_its_time(committed_cast: Cast, record_property: Record, kind: str) -> None:
    """Two workers, as on a host with two cores; the ratio is printed, the bound leaves room for a busy machine."""
    quiet, loud, memory = measured(committed_cast, kind, "worker", 60)
    record_property("figure", figure(kind, quiet, loud, memory))
    assert p95(loud) < (PATIENT if kind == "items" else max(4 * p95(quiet), PATIENT / 4))  # decision 0038 says why
    assert memory < LARGEST_MB
    statuses = set(Instance.objects.filter(tenant=committed_cast.acme).values_list("status", flat=True))
    assert "failed" not in statuses


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


def test_no_more_is_loaded_together_than_fits_into_memory() -> None:
    names = [uuid4() for _ in range(4)]
    large, half = LARGEST_LOAD * 3, LARGEST_LOAD // 2
    assert cut_to_load([(names[0], large), (names[1], 1)]) == names[:1]
    assert cut_to_load([(name, half) for name in names]) == names[:2]
