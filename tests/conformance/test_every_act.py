"""What a stored test shows is what happens: every act of every one, in the simulator and through the services.

What was played is run again from the audit: every instance has the whole snapshot that it had.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from engine.kernel.simulator import acts
from engine.kernel.simulator.instance import Task
from engine.runtime import environment, replay
from tests.conformance.comparison import Comparison
from tests.conformance.documents import Stored, slug, stored_tests
from tests.kernel.test_language_page import SETUP
from tests.replaying import unlike_when_replayed
from workflowplatform.ids import keep_time


def played() -> Iterator[Any]:
    """Yield every stored test; in the short form the first of each workflow that says what must come of it."""
    for stored in stored_tests():
        marks = [] if stored.is_first and stored.expects else [pytest.mark.slow]
        yield pytest.param(stored, id=slug(stored.title), marks=marks)


@pytest.fixture
def own_time(db: None) -> Iterator[None]:
    """Let ids follow the clock again that goes."""
    yield
    keep_time(datetime.now(UTC))


@pytest.fixture
def page_house(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register what docs/language.md says is registered."""
    assert SETUP.decorator is not None
    for module in (environment, replay):
        monkeypatch.setattr(module, "decorator_named", SETUP.decorator)


@pytest.mark.usefixtures("own_time", "page_house")
@pytest.mark.parametrize("stored", list(played()))
def test_each_act_is_answered_alike(stored: Stored, record_property: Callable[[str, int], None]) -> None:
    beside = Comparison(stored, SETUP)
    beside.run()
    record_property("acts compared", beside.acts)
    assert not beside.differences, "\n".join(beside.differences)
    assert beside.failures == [] or not stored.expects
    assert beside.acts
    assert unlike_when_replayed() == {}


def named(workflow: str) -> Stored:
    return next(one for one in stored_tests() if one.definition.name == workflow)


@pytest.mark.usefixtures("own_time")
def test_simulation_that_refuses_nobody_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acts, "forbid_act", lambda task, person, **more: None)
    beside = Comparison(named("claimed"))
    beside.run()
    assert "complete a: done here, claimed there" in beside.differences


@pytest.mark.usefixtures("own_time")
def test_simulation_that_shows_another_task_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Task, "claimed_by", None)
    beside = Comparison(named("claimed"))
    beside.run()
    assert beside.differences
