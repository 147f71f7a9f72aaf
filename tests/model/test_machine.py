"""The formal model holds: whatever is done in whatever order, nothing of it is ever broken, and everything ends that can."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.conftest import NewWorld
from tests.model.machine import Machine

UNHURRIED = settings(
    deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=False, derandomize=True
)
SHORT = settings(UNHURRIED, max_examples=3, stateful_step_count=20, phases=[Phase.generate])
LONG = settings(UNHURRIED, max_examples=40, stateful_step_count=50, phases=[Phase.generate])


def played(new_world: NewWorld) -> type[Machine]:
    """Return the machine with a way to make its worlds."""
    return type("PlayedMachine", (Machine,), {"make_world": staticmethod(new_world)})


def play(new_world: NewWorld, profile: settings) -> None:
    """Let the machine run in worlds made for it."""
    run_state_machine_as_test(played(new_world), settings=profile)


def test_the_model_holds(new_world: NewWorld) -> None:
    play(new_world, SHORT)


@pytest.mark.slow
def test_the_model_holds_for_long(new_world: NewWorld) -> None:
    play(new_world, LONG)
