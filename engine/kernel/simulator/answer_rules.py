"""What an answer in a simulation must hold to be taken: the rules of the service, in its order.

A test answers as a person does before the form: what the form begins with is there unless the test says otherwise, and so
is every tick of a checklist.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.kernel.effects import OpenTask, Outcome
from engine.kernel.forms import FieldError, check_answer_values, without_wrong
from engine.kernel.signals import Json
from engine.kernel.simulator.instance import Task
from engine.kernel.simulator.people import Refused
from engine.kernel.tasks.answers import brought_values, ending_of, files_named, files_taken, read_only_kept
from engine.kernel.tasks.rules import FileRules


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that its task takes."""

    outcome: str
    values: dict[str, Json]
    comment: str | None


def attach_files(task: Task, given: Mapping[str, Json]) -> dict[str, Json]:
    """Add the files that an answer brings along to its task; give the answer without them."""
    if "attachments" not in given or _is_field(task.task, "attachments"):
        return dict(given)
    names = given["attachments"]
    for name in names if isinstance(names, list) else [names]:
        _attach(task, files_taken(task.task.rules, task.task.form), str(name))
    return {key: value for key, value in given.items() if key != "attachments"}


def _is_field(task: OpenTask, name: str) -> bool:
    return name in (task.form.get("properties") or {}) if task.form else False


def _attach(task: Task, rules: FileRules | None, name: str) -> None:
    if rules is None:
        raise Refused("refused", "the task takes no files")
    if ending_of(name) not in rules.endings:
        raise Refused("invalid", f"{name} is none of {', '.join(rules.endings)}", ("file",))
    if len(task.files) >= rules.max:
        raise Refused("limit", f"there are {rules.max} files already")
    task.files.append(name)


def checked_answer(task: Task, given: Mapping[str, Json]) -> Answer:
    """Read an answer; refuse one that the task would not take."""
    found, values = task.task, dict(given)
    ticked = values.pop("ticked", None) if found.rules.checklist else None
    comment = str(values.pop("comment", None) or "")
    outcome = _outcome(found, values.pop("outcome", None))
    if not comment.strip() and _comment_needed(found, outcome):
        raise Refused("comment_required", "a comment is needed", ("comment",))
    filled = _checked_values(task, values, rejects=outcome.reject)
    if not outcome.reject:
        _refuse_unticked(found, ticked)
        _refuse_without_files(task)
    return Answer(outcome.name, filled, comment or None)


def _outcome(task: OpenTask, name: Json) -> Outcome:
    if name is None and len(task.outcomes) == 1:
        return task.outcomes[0]
    found = next((outcome for outcome in task.outcomes if outcome.name == name), None)
    if found is None:
        known = ", ".join(outcome.name for outcome in task.outcomes)
        said = "no outcome was chosen" if name is None else f"there is no outcome {name!r}"
        raise Refused("invalid", f"{said}; choose one of {known}", ("outcome",))
    return found


def _comment_needed(task: OpenTask, outcome: Outcome) -> bool:
    rule = outcome.comment or task.comment
    return rule == "always" or (rule == "on_reject" and outcome.reject)


def _checked_values(task: Task, values: dict[str, Json], *, rejects: bool) -> dict[str, Json]:
    form, payload = dict(task.task.form), task.task.payload
    sent = read_only_kept(form, payload, {**brought_values(form, payload), **values})
    filled, problems = check_answer_values(form or None, sent, rejects=rejects)
    if problems:
        raise Refused("invalid", problems[0].message, tuple(_within(problem.path) for problem in problems))
    missing = [(path, name) for path, name in files_named(form, filled) if name not in task.files]
    if missing and rejects:
        filled = without_wrong(filled, [FieldError(path, "file", name) for path, name in missing])
    elif missing:
        said = f"there is no file called {missing[0][1]}; say attachments: [{missing[0][1]}]"
        raise Refused("invalid", said, tuple(_within(path) for path, _ in missing))
    return dict(filled)


def _within(path: str) -> str:
    return f"values.{path}" if path else "values"


def _refuse_unticked(task: OpenTask, ticked: Json) -> None:
    """Refuse an answer that leaves points of the checklist undone; unless a test says which are ticked, all are."""
    if ticked is None:
        return
    missing = [point.id for point in task.rules.checklist if point.required and point.id not in ticked]
    if missing:
        raise Refused("invalid", f"not done yet: {', '.join(missing)}", tuple(f"checklist.{name}" for name in missing))


def _refuse_without_files(task: Task) -> None:
    rules = task.task.rules.files
    if rules is not None and rules.required and not task.files:
        raise Refused("invalid", "a file is needed; say attachments: [its name]", ("attachments",))
