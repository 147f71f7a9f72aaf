"""What a case starts: children that never wait end in the same act, and nothing that begets itself stops the others."""

import os
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from engine.audit.chain import database_now
from engine.dispatch.call_pool import CallsUnderWay
from engine.dispatch.drain import Drained, drain, drain_once
from engine.kernel.simulator.starts import LONGEST_CHAIN
from engine.models import Instance, Signal, SignalReceipt, StepRun, Task, TemplateVersion
from engine.services.audit.verification import verify_folds
from engine.services.instances.events import accept_event
from engine.services.instances.lifecycle import cancel_instance, start_instance
from engine.services.tasks.lifecycle import complete_task
from engine.services.templates.simulation import simulate_version
from engine.services.templates.trial_runs import try_version
from engine.services.templates.versions import check_source
from tests.cast import Cast
from tests.workflows import TIMER, activated, fall_due, started
from workflowplatform.accounts.actor import Actor

pytestmark = pytest.mark.usefixtures("replayed")

LONG_LIST = 700 if os.environ.get("WORKFLOW_TEST_ALL") else 250
DOUBLE = """
workflow: double
title: Double
input: {type: object, required: [n], properties: {n: {type: integer}}}
output: {twice: "${state.twice}"}
steps:
  - {id: compute, set: {twice: "${start.n * 2}"}}
"""

ASKS_DOUBLE = """
workflow: asks-double
title: Asks double
input: {type: object, properties: {n: {type: integer, default: 4}}}
steps:
  - {id: sub, workflow: {name: double, input: {n: "${start.n}"}}}
  - {id: keep, set: {got: "${result.sub.twice}"}}
  - {id: look, task: {title: "Look at ${state.got}"}}
"""


@pytest.fixture(autouse=True)
def time_enough(settings: Any) -> None:
    """Let no busy machine cut a transaction short; tests that want it short say so."""
    settings.WORKFLOW_SLICE_SECONDS = 60
    settings.WORKFLOW_TRANSACTION_SECONDS = 60


def spawning(name: str, step: str, **more: str) -> str:
    return f"workflow: {name}\ntitle: {name}\n{more.get('head', '')}\nsteps:\n{step}\n"


# A child that never waits


def test_a_child_that_never_waits_ends_in_the_very_act_that_starts_it(gwen: Actor) -> None:
    activated(gwen, DOUBLE)
    activated(gwen, ASKS_DOUBLE)
    begun = start_instance(actor=gwen, template="asks-double", input={"n": 21})
    assert [task.title for task in begun.tasks] == ["Look at 42"]
    assert [wait.kind for wait in begun.instance.waits.all()] == ["task"]
    child = Instance.objects.get(parent=begun.instance)
    assert (child.status, child.output, child.depth) == ("completed", {"twice": 42}, 1)
    assert not Signal.objects.exists()
    assert not SignalReceipt.objects.exists()
    assert [(run.step, run.status) for run in StepRun.objects.filter(instance=begun.instance).order_by("run")] == [
        ("sub", "success"),
        ("keep", "success"),
        ("look", "running"),
    ]
    assert_true_to_history(gwen)


def test_an_answer_leads_past_a_child_to_the_next_task(gwen: Actor) -> None:
    activated(gwen, DOUBLE)
    activated(gwen, ASKS_DOUBLE.replace("steps:\n", "steps:\n  - {id: first, task: {title: First}}\n"))
    begun = start_instance(actor=gwen, template="asks-double", input={})
    done = complete_task(actor=gwen, task_id=begun.tasks[0].pk)
    assert [task.title for task in done.next_tasks] == ["Look at 8"]
    assert not Signal.objects.exists()
    assert_true_to_history(gwen)


def test_children_below_children_end_in_the_same_act(gwen: Actor) -> None:
    below = "  - {{id: sub, workflow: {{name: {0}}}}}\n  - {{id: keep, set: {{n: '${{result.sub.n + 1}}'}}}}"
    head = "output: {n: '${state.n}'}"
    activated(gwen, spawning("deep-0", "  - {id: one, set: {n: 1}}", head=head))
    for number in range(1, 13):
        activated(gwen, spawning(f"deep-{number}", below.format(f"deep-{number - 1}"), head=head))
    case = started(gwen, "deep-12")
    assert (case.status, case.output) == ("completed", {"n": 13})
    assert Instance.objects.filter(status="completed").count() == 13
    assert sorted(Instance.objects.values_list("depth", flat=True)) == list(range(13))
    assert_true_to_history(gwen)


def test_many_children_in_a_row_and_at_once_end_in_the_same_act(gwen: Actor) -> None:
    activated(gwen, DOUBLE)
    for limit in (1, 20):
        source = spawning(
            f"all-{limit}",
            f"  - {{id: all, for_each: {{each: '${{[1, 2, 3, 4, 5]}}', limit: {limit}, steps: "
            "[{id: sub, workflow: {name: double, input: {n: '${item}'}}}]}}\n"
            "  - {id: keep, set: {got: '${result.all.map(one, one.twice)}'}}",
        )
        activated(gwen, source)
        case = started(gwen, f"all-{limit}")
        assert (case.status, case.state) == ("completed", {"got": [2, 4, 6, 8, 10]})
    assert_true_to_history(gwen)


@pytest.mark.parametrize(
    ("ending", "status", "state"),
    [
        ("  - {id: no, fail: {code: nope, message: no}}", "completed", {"caught": "business/nope"}),
        ("  - {id: no, cancel: {case: true}}", "completed", {"caught": "business/cancelled"}),
        ("  - {id: no, set: {x: '${1 / 0}'}}", "running", {}),
    ],
)
def test_a_child_that_ends_badly_is_its_parents_error_at_once(
    gwen: Actor, ending: str, status: str, state: dict[str, str]
) -> None:
    activated(gwen, spawning("bad", ending))
    catch = "on_error: [{steps: [{id: note, set: {caught: \"${error['class'] + '/' + error.code}\"}}]}]"
    activated(gwen, spawning("parent", f"  - {{id: sub, workflow: {{name: bad}}, {catch}}}"))
    case = started(gwen, "parent")
    assert (case.status, case.state) == (status, state)
    assert_true_to_history(gwen)


def test_what_a_child_withdraws_beside_it_leaves_no_trace(gwen: Actor) -> None:
    activated(gwen, DOUBLE)
    race = (
        "  - id: race\n    parallel:\n      join: any\n      branches:\n"
        "        person: [{id: ask, task: {title: Never seen}}]\n"
        "        machine: [{id: sub, workflow: {name: double, input: {n: 1}}}]\n"
        "  - {id: look, task: {title: Next}}"
    )
    activated(gwen, spawning("race", race))
    begun = start_instance(actor=gwen, template="race", input={})
    assert [task.title for task in begun.tasks] == ["Next"]
    assert [task.title for task in Task.objects.all()] == ["Next"]
    assert_true_to_history(gwen)


def test_what_goes_beyond_the_budget_of_an_act_is_queued_and_done_by_a_worker(gwen: Actor, settings: Any) -> None:
    settings.WORKFLOW_TRANSACTION_STARTS = 3
    activated(gwen, DOUBLE)
    each = (
        "  - {id: all, for_each: {each: '${range(0, 10)}', steps: "
        "[{id: sub, workflow: {name: double, input: {n: '${item}'}}}]}}\n"
        "  - {id: keep, set: {got: '${result.all.map(one, one.twice)}'}}"
    )
    activated(gwen, spawning("all", each.replace("${range(0, 10)}", "${[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}")))
    case = started(gwen, "all")
    assert case.status == "running"
    assert Instance.objects.filter(parent=case, status="completed").count() <= 3
    assert set(Signal.objects.values_list("type", flat=True)) == {"InternalContinue"}
    drain()
    case.refresh_from_db()
    assert (case.status, case.state) == ("completed", {"got": [n * 2 for n in range(10)]})
    assert_true_to_history(gwen)


def assert_true_to_history(actor: Actor) -> None:
    """Fold the audit of everything and compare."""
    verdict = verify_folds()
    assert verdict.broken == ()


# What begets itself

SELF_CONTINUING = spawning("again", "  - {id: on, continue_with: {name: again}}")
SELF_EMITTING = spawning(
    "echoing", "  - {id: shout, emit: {event: shouted}}", head="trigger: event\nevent: {name: shouted}"
)


def begun(actor: Actor, version: TemplateVersion) -> Instance:
    """Begin the first of a chain in the way that its trigger lets it begin."""
    if version.event_name:
        accept_event(actor=actor, name=version.event_name, external_id="first", payload={})
        return Instance.objects.filter(version=version).earliest("id")
    return started(actor, version.template.name)


@pytest.mark.parametrize("source", [SELF_CONTINUING, SELF_EMITTING])
def test_a_chain_without_a_wait_ends_as_an_incident_that_names_the_limit(
    gwen: Actor, settings: Any, source: str
) -> None:
    settings.WORKFLOW_LONGEST_CHAIN = 30
    settings.WORKFLOW_TRANSACTION_STARTS = 10
    version = activated(gwen, source)
    first = begun(gwen, version)
    assert first.status == "completed"
    assert Instance.objects.count() <= 12
    drain()
    last = Instance.objects.exclude(status="completed").get()
    assert (last.status, last.error["class"], last.error["code"]) == ("incident", "definition", "endless_chain")
    assert "30" in last.error["message"]
    assert Instance.objects.count() == 31
    assert_true_to_history(gwen)


def test_a_chain_with_a_wait_in_each_link_has_no_end(gwen: Actor, settings: Any) -> None:
    settings.WORKFLOW_LONGEST_CHAIN = 3
    settings.WORKFLOW_MOST_DESCENDANTS = 3
    monthly = "  - {id: month, wait: {for: P30D}}\n  - {id: on, continue_with: {name: monthly}}"
    activated(gwen, spawning("monthly", monthly))
    started(gwen, "monthly")
    for _ in range(8):
        fall_due(Instance.objects.get(status="running"))
        drain()
    assert Instance.objects.filter(status="completed").count() == 8
    assert set(Instance.objects.values_list("hops", "root_id")) == {(0, None)}


def test_a_wait_inside_a_child_is_a_wait_of_its_parents_chain(gwen: Actor, settings: Any) -> None:
    settings.WORKFLOW_LONGEST_CHAIN = 2
    activated(gwen, TIMER.replace("PT0.2S", "PT1H"))  # none falls due by itself
    activated(
        gwen, spawning("loop", "  - {id: sub, workflow: {name: timer}}\n  - {id: on, continue_with: {name: loop}}")
    )
    started(gwen, "loop")
    for _ in range(5):
        fall_due(Instance.objects.get(status="running", template__name="timer"))
        drain()
    assert Instance.objects.filter(template__name="loop", status="completed").count() == 5
    assert not Instance.objects.filter(status="incident").exists()


SELF_SPREADING = spawning(
    "spread",
    "  - {id: all, for_each: {each: '${start.items}', limit: 10000, steps: "
    "[{id: sub, workflow: {name: spread, input: {items: '${start.items}'}}}]}}",
    head="input: {type: object, properties: {items: {type: array}}}",
)


def test_what_begets_itself_many_times_over_stays_within_its_bounds(committed_cast: Cast, settings: Any) -> None:
    settings.WORKFLOW_SLICE_STEPS = 50
    settings.WORKFLOW_TRANSACTION_STARTS = 10
    settings.WORKFLOW_MOST_DESCENDANTS = 60
    settings.WORKFLOW_DRAIN_BATCH = 5
    cast = committed_cast
    gwen, sam = cast.actor("gwen"), cast.actor("sam")
    activated(gwen, SELF_SPREADING)
    activated(sam, TIMER)
    root = started(gwen, "spread", items=list(range(70)))
    born = Instance.objects.count()
    assert born <= 12 * 51  # eleven slices ran, and none began more steps than a slice may
    neighbour = fall_due(started(sam, "timer"))
    Signal.objects.filter(instance=neighbour).update(due_at=database_now() - timedelta(seconds=1))
    drain_once(Drained(), CallsUnderWay())
    neighbour.refresh_from_db()
    assert neighbour.status == "completed"
    for _ in range(20):
        drain_once(Drained(), CallsUnderWay())
    stopped = Instance.objects.filter(status="incident").first()
    assert stopped is not None
    assert stopped.error["code"] == "too_many_descendants"
    assert "60" in stopped.error["message"]
    assert Instance.objects.filter(root_id=root.pk).count() <= 60
    cancel_instance(actor=gwen, instance_id=root.pk, reason="a runaway")
    while drain().done:
        pass
    assert set(Instance.objects.filter(tenant=cast.acme).values_list("status", flat=True)) == {"cancelled"}
    assert not Signal.objects.filter(tenant=cast.acme, due_at__lte=database_now()).exists()
    assert_true_to_history(gwen)


def test_a_long_list_of_births_is_begun_slice_by_slice(gwen: Actor, settings: Any) -> None:
    settings.WORKFLOW_SLICE_STEPS = 100
    settings.WORKFLOW_TRANSACTION_STARTS = 20
    activated(gwen, DOUBLE)
    source = spawning(
        "long",
        "  - {id: all, for_each: {each: '${start.items}', limit: 10000, steps: "
        "[{id: sub, workflow: {name: double, input: {n: '${item}'}}}]}}\n"
        "  - {id: keep, set: {sum: '${result.all.map(one, one.twice).size()}'}}",
        head="input: {type: object, properties: {items: {type: array}}}",
    )
    activated(gwen, source)
    case = started(gwen, "long", items=list(range(LONG_LIST)))
    assert Instance.objects.filter(parent=case).count() <= 101
    while drain().done:
        pass
    case.refresh_from_db()
    assert (case.status, case.state) == ("completed", {"sum": LONG_LIST})
    assert Instance.objects.filter(parent=case, status="completed").count() == LONG_LIST
    assert_true_to_history(gwen)


# While it is written


def test_an_author_is_told_of_what_starts_itself_and_of_unfit_input(gwen: Actor) -> None:
    activated(gwen, DOUBLE)
    source = ASKS_DOUBLE.replace('input: {n: "${start.n}"}', "input: {x: 1}")
    found = [(one.code, one.severity, one.line) for one in check_source(actor=gwen, source=source).findings]
    assert found == [("child_input", "warning", 6)]
    activated(gwen, SELF_EMITTING)
    shouting = spawning("caller", "  - {id: call, emit: {event: shouted}}")
    assert check_source(actor=gwen, source=shouting).findings == ()
    [aside] = check_source(actor=gwen, source=SELF_EMITTING).findings
    assert (aside.code, aside.severity) == ("starts_itself", "warning")


def test_a_trial_has_ids_of_the_real_form_and_the_same_each_time(gwen: Actor) -> None:
    source = spawning(
        "named", "  - {id: ask, task: {title: Ask}}", head='reference: "BOOK-${upper(instance.id.substring(28))}"'
    )
    version = activated(gwen, source + "  - {id: keep, set: {id: '${instance.id}'}}\n")
    done: list[Any] = [{"complete": "ask"}]
    tried = [try_version(actor=gwen, name="named", number=version.number, test={"do": done}) for _ in range(2)]
    assert tried[0].problem == ""
    assert tried[0].state == tried[1].state
    assert tried[0].state is not None
    assert UUID(str(tried[0].state["id"])).version == 7


def test_a_trial_says_that_a_child_does_not_take_its_input(gwen: Actor) -> None:
    activated(gwen, DOUBLE)
    version = activated(gwen, ASKS_DOUBLE.replace('input: {n: "${start.n}"}', "input: {x: 1}"))
    trial = try_version(actor=gwen, name="asks-double", number=version.number, test={"start": {}})
    real = started(gwen, "asks-double")
    assert (trial.status, real.status) == ("incident", "incident")
    assert trial.error is not None
    for error in (trial.error, real.error):
        assert (error["class"], error["code"], error["step"]) == ("definition", "child_input", "sub")
        assert "`double`" in error["message"]
        assert "n:" in error["message"]
    assert trial.error["message"] == real.error["message"]


@pytest.mark.parametrize("source", [SELF_CONTINUING, SELF_EMITTING])
def test_a_trial_of_what_starts_itself_ends_and_says_why(gwen: Actor, source: str) -> None:
    version = activated(gwen, source)
    name = version.template.name
    trial = try_version(actor=gwen, name=name, number=1, test={"start": {}})
    assert str(LONGEST_CHAIN) in trial.problem
    report = simulate_version(actor=gwen, name=name, number=1, test={"start": {}})
    assert report.over_budget


def test_listeners_beyond_the_allowance_are_begun_by_a_worker(gwen: Actor, settings: Any) -> None:
    settings.WORKFLOW_TRANSACTION_STARTS = 2
    for number in range(4):
        head = "trigger: event\nevent: {name: heard}"
        activated(gwen, spawning(f"ear-{number}", "  - {id: a, set: {a: 1}}", head=head))
    accepted = accept_event(actor=gwen, name="heard", external_id="1", payload={})
    assert len(accepted.started) == 4
    assert Instance.objects.filter(status="completed").count() == 2
    drain()
    assert set(Instance.objects.values_list("pk", "status")) == {(one, "completed") for one in accepted.started}
    assert_true_to_history(gwen)
