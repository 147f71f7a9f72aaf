"""`manager_of()` asks what a slice is lent, at that moment; a replay is told what was answered."""

import threading

from engine.kernel.expressions.org_chart import lend_chart
from tests.kernel.test_expressions import value

CHART = {"ann": "bob", "bob": "cat"}


def test_manager_is_asked_of_the_chart_that_is_lent() -> None:
    with lend_chart(CHART.get):
        assert value("manager_of('ann')") == "bob"
        assert value("manager_of(manager_of(start.by))", start={"by": "ann"}) == "cat"
        assert value("manager_of('cat') == null") is True
        assert value("manager_of(null) == null") is True
        assert value("['ann', 'bob'].map(one, manager_of(one))") == ["bob", "cat"]


def test_without_a_chart_nobody_has_a_manager_however_often_it_was_computed_before() -> None:
    with lend_chart(CHART.get):
        assert value("manager_of('ann')") == "bob"
        with lend_chart({"ann": "dan"}.get):
            assert value("manager_of('ann')") == "dan"
    assert value("manager_of('ann')") is None


def test_chart_is_lent_to_its_own_thread_only() -> None:
    found: list[object] = []
    with lend_chart(CHART.get):
        other = threading.Thread(target=lambda: found.append(value("manager_of('ann')")))
        other.start()
        other.join()
    assert found == [None]
