"""Check who may do tasks: rules that nobody can satisfy, and tasks that their person may not do.

A person is known by name, or by the expression that gives one (`${instance.started_by}`). Where candidates come by role,
they are known only if the members are passed in; roles change, so that is a warning.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from engine.kernel.effects import PRIORITIES
from engine.kernel.findings import did_you_mean
from engine.kernel.language.reading.nodes import Outline, Reading
from engine.kernel.steps.assignment import MANAGER

STARTER = "${instance.started_by}"
MOST_CHOICES = 100
ASKS_CHART = re.compile(r"\bmanager_of\s*\(")
Members = Mapping[str, frozenset[str]]


def check_people(reading: Reading) -> None:
    """Refuse rules that nobody can satisfy, and warn of tasks that their person may not do."""
    _check_names(reading)
    for step, task in _tasks(reading):
        _check_level(reading, step, task)
        _check_priorities(reading, step, task)
        _check_manager(reading, step, task)
        if _nobody(reading, task, {}):
            reading.error(step.node, "four_eyes", _text(step), step.path)


def _check_names(reading: Reading) -> None:
    """Refuse a rule about the person who did a step that no person takes part in."""
    with_person = _with_person(reading)
    for mention in reading.mentions:
        rule = mention.path.rsplit("/", 1)[-1]
        if rule in ("not_same_as", "same_as") and mention.id in reading.steps and mention.id not in with_person:
            text = f"no person can have done `{mention.id}`: it is not a task and contains none"
            reading.error(mention.node, "no_person", text, mention.path, f"name a task in `{rule}`, or `start`")


def _with_person(reading: Reading) -> set[str]:
    """Return the steps in which a person can take part: tasks, child workflows, and containers of these."""
    found: set[str] = set()
    for step in reading.steps.values():
        name = step.id if step.kind in ("task", "workflow") else ""
        while name and name not in found:
            found.add(name)
            name = reading.steps[name].parent if name in reading.steps else ""
    return found


def check_members(reading: Reading, members: Members) -> None:
    """Warn of rules that nobody in the tenant can satisfy with the roles that people hold today."""
    for step, task in _tasks(reading):
        if _nobody(reading, task, members) and not _nobody(reading, task, {}):
            hint = "give the role to more people, or name another role"
            reading.warn(step.node, "four_eyes", _text(step), step.path, hint)


def _text(step: Outline) -> str:
    return f"nobody could do `{step.id}`: `not_same_as` excludes all its candidates"


def _tasks(reading: Reading) -> Iterator[tuple[Outline, Mapping[str, Any]]]:
    for step in reading.steps.values():
        task = step.spec.get("task")
        if isinstance(task, dict):
            yield step, task


def _check_level(reading: Reading, step: Outline, task: Mapping[str, Any]) -> None:
    level = task.get("min_level", 4)
    alone = [task["assignee"]] if task.get("assignee") is not None else _listed(task.get("users"))
    if [_spelled(one) for one in alone] == [STARTER] and not task.get("roles") and level > reading.starter_level:
        text = f"the starter may have level {reading.starter_level}, but this task requires {level}"
        reading.warn(step.node, "starter_level", text, step.path, f"min_level: {reading.starter_level}")


def _check_manager(reading: Reading, step: Outline, task: Mapping[str, Any]) -> None:
    """Warn of a task for a manager that is everybody's where there is no manager."""
    by_chart = task.get("assign_by") == MANAGER or ASKS_CHART.search(str(task.get("assignee") or ""))
    if by_chart and not task.get("roles") and not task.get("users"):
        text = f"a person without a manager would offer `{step.id}` to everybody"
        reading.warn(step.node, "no_fallback", text, step.path, "name `roles` or `users` who do it then")


def _check_priorities(reading: Reading, step: Outline, task: Mapping[str, Any]) -> None:
    """Warn of a priority that has no name here: such a task is taken as a normal one."""
    for given in (task, *task.get("escalate", ())):
        name = given.get("priority", "normal")
        if name not in PRIORITIES and "${" not in name:
            hint = did_you_mean(name, PRIORITIES) or ", ".join(PRIORITIES)
            reading.warn(step.node, "unknown_priority", f"there is no priority `{name}`", step.path, hint)


def _nobody(reading: Reading, task: Mapping[str, Any], members: Members) -> bool:
    """Return whether every way in which the other steps can be done leaves nobody for this task."""
    excluding = [name for name in task.get("not_same_as", ()) if name == "start" or name in reading.steps]
    same = task.get("same_as", ())
    if same and set(same) <= set(excluding):
        return True
    candidates = _candidates(task, members)
    if not candidates or not excluding:
        return False
    ways = list(_ways(reading, excluding, members))
    return bool(ways) and all(candidates <= way for way in ways)


def _ways(reading: Reading, names: list[str], members: Members) -> Iterator[frozenset[str]]:
    """Return the people who may have done some steps, one set for every way in which they can be done."""
    choices = [sorted(_doers(reading, name, members)) for name in names]
    for number, chosen in enumerate(product(*choices)):
        if number == MOST_CHOICES:
            return
        done = dict(zip(names, chosen, strict=True))
        if all(done[name] != done.get(other) for name in names for other in _excluded_by(reading, name)):
            marks = {f"${{result.{name}.by}}" for name in names if name != "start"}
            yield frozenset({*chosen, *marks})


def _doers(reading: Reading, name: str, members: Members) -> frozenset[str]:
    """Return the people who may have done a step: by name, or by the expression that gives them."""
    if name == "start":
        return frozenset({STARTER})
    task = reading.steps[name].spec.get("task")
    found = _candidates(task, members) if isinstance(task, dict) else None
    return found or frozenset({f"${{result.{name}.by}}"})


def _excluded_by(reading: Reading, name: str) -> list[str]:
    task = reading.steps[name].spec.get("task") if name != "start" else None
    return list(task.get("not_same_as", ())) if isinstance(task, dict) else []


def _candidates(task: Mapping[str, Any], members: Members) -> frozenset[str] | None:
    """Return everybody who may do a task; None when that is not known before it runs."""
    if task.get("assignee") is not None:
        return _known([task["assignee"]])
    users, roles = _listed(task.get("users")), _listed(task.get("roles"))
    people = _known(users)
    if people is None or any(role not in members for role in roles) or "assign_by" in task:
        return None
    return people.union(*(members[role] for role in roles)) or None


def _listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [] if given is None else [given]


def _known(names: list[Any]) -> frozenset[str] | None:
    found = [_spelled(name) for name in names]
    plain = [name for name in found if "${" not in name or name == STARTER or _is_doer(name)]
    return frozenset(plain) if len(plain) == len(found) else None


def _is_doer(name: str) -> bool:
    return name.startswith("${result.") and name.endswith(".by}") and name.count("${") == 1


def _spelled(name: Any) -> str:
    return str(name).replace(" ", "")
