"""Where a case is, as an ordered list. No database."""

from datetime import UTC, datetime

from engine.kernel.language.normalizer import normalize
from engine.kernel.signals import Json
from engine.models import StepRun
from engine.presentation.narrative.step_outline import WORDS, Step, near, outline_of, steps_by_id

NOW = datetime(2026, 11, 16, 10, 0, tzinfo=UTC)

SOURCE = """
workflow: two-ways
steps:
  - id: large
    title: Over 5,000?
    if: start.amount > 5000
    then:
      - id: manager
        task: {title: Ask the manager}
      - id: note_it
        set: {seen: true}
    else:
      - complete: {outcome: TOO_SMALL}
  - id: pay
    call: {python: echo}
    retry: {attempts: 3, delay: PT1M}
"""


def canonical() -> Json:
    return normalize(SOURCE).canonical


def run(number: int, path: str, status: str, *, kind: str = "set", attempt: int = 1) -> StepRun:
    step = path.rsplit("/", 1)[-1]
    return StepRun(run=number, attempt=attempt, step=step, kind=kind, path=path, status=status, started_at=NOW)


def drawn(*runs: StepRun) -> dict[str, Step]:
    return steps_by_id(outline_of(canonical(), runs))


def test_names_are_titles_else_words() -> None:
    steps = drawn()
    named = [steps[step].name for step in ("large", "manager", "note_it", "pay")]
    assert named == ["Over 5,000?", "Ask the manager", "Note it", "Pay"]
    assert "Too small" in {step.name for step in steps.values()}
    assert {step.state for step in steps.values()} == {"todo"}


def test_only_the_leaf_waits_and_its_container_is_under_way() -> None:
    steps = drawn(run(1, "large", "running", kind="if"), run(2, "large/then/manager", "running", kind="task"))
    assert steps["large"].state == "inside"
    assert (steps["manager"].state, steps["manager"].words) == ("here", WORDS["running"])
    assert steps["note_it"].state == "todo"


def test_the_way_not_gone_is_struck_out_once_the_choice_is_over() -> None:
    steps = drawn(
        run(1, "large", "success", kind="if"),
        run(2, "large/then/manager", "success", kind="task"),
        run(3, "large/then/note_it", "success"),
    )
    other = next(step for step in steps.values() if step.kind == "complete")
    assert other.state == "skipped"
    assert [branch.taken for branch in steps["large"].branches] == [True, False]
    assert steps["pay"].state == "todo"


def test_attempts_are_counted_and_the_last_has_the_word() -> None:
    steps = drawn(run(5, "pay", "failed", kind="call"), run(5, "pay", "retrying", kind="call", attempt=2))
    assert (steps["pay"].state, steps["pay"].attempt) == ("again", 2)
    assert steps["pay"].words.startswith(f"{WORDS['retrying']}, ")


def test_beside_a_task_only_what_waits_and_what_follows_is_opened() -> None:
    runs = [run(1, "large", "running", kind="if"), run(2, "large/then/manager", "running", kind="task")]
    assert "manager" in steps_by_id(near(outline_of(canonical(), runs)))
    later = [run(1, "large", "success", kind="if"), run(3, "pay", "running", kind="call")]
    assert set(steps_by_id(near(outline_of(canonical(), later)))) == {"large", "pay"}


def test_rounds_are_counted() -> None:
    steps = drawn(run(5, "pay", "success", kind="call"), run(9, "pay", "running", kind="call"))
    assert steps["pay"].runs == 2
    assert steps["pay"].words.startswith(f"{WORDS['running']}, 2 ")
