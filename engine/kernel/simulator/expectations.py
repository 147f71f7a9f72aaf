"""Compare a simulated instance with what a test expects: objects match in part, lists wholly."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from engine.kernel.errors import error_names
from engine.kernel.signals import Json
from engine.kernel.simulator.instance import Instance, Task, names_of
from engine.kernel.simulator.mismatches import differs, lacks

if TYPE_CHECKING:
    from engine.kernel.simulator.player import Play


def check_expectation(play: "Play", instance: Instance | None, expected: Mapping[str, Json]) -> list[str]:
    """List every way in which an instance is not as expected."""
    failures: list[str] = []
    if instance is None and "refused" not in expected:
        why = f" as {play.refused.code}: {play.refused}" if play.refused is not None else ""
        return [f"the start was refused{why}"]
    for key, wanted in expected.items():
        look = EXPECTATIONS.get(key)
        if look is None:
            failures.append(f"nothing named {key} can be expected")
        elif key == "refused" or instance is not None:
            failures += look(play, instance, wanted)
    return failures


def compare(found: Json, wanted: Json, where: str) -> list[str]:
    """Compare two values: objects in part, lists wholly."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        missing = [lacks(f"{where}.{key}", wanted[key]) for key in wanted if key not in found]
        deeper = [line for key in wanted if key in found for line in compare(found[key], wanted[key], f"{where}.{key}")]
        return missing + deeper
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        pairs = enumerate(zip(found, wanted, strict=True))
        return [line for place, (left, right) in pairs for line in compare(left, right, f"{where}[{place}]")]
    same = found == wanted and isinstance(found, bool) == isinstance(wanted, bool)
    return [] if same else [differs(where, found, wanted)]


def describe(play: "Play", instance: Instance) -> dict[str, Json]:
    """Return everything that a test may ask for, as JSON."""
    return {
        "status": instance.status.value,
        "outcome": instance.outcome,
        "output": instance.output,
        "state": instance.snapshot.state if instance.snapshot is not None else {},
        "results": instance.snapshot.results if instance.snapshot is not None else {},
        "error": error_names(instance.error) if instance.error is not None else None,
        "path": ids_passed(instance),
        "tasks": [task.wait.step for task in instance.open_tasks()],
        "waits": dict(open_waits(instance)),
        "now": play.world.spell(play.world.now),
    }


def ids_passed(instance: Instance) -> list[str]:
    """List the ids written by the author in the order begun, once per run, skipped ones left out."""
    skipped = {run.run for run in instance.trace if run.status.value == "skipped"}
    seen: set[int] = set()
    path = []
    for run in instance.trace:
        if run.began and run.run not in seen and run.run not in skipped and instance.definition.steps[run.step].own_id:
            seen.add(run.run)
            path.append(run.step)
    return path


def open_waits(instance: Instance) -> Counter[str]:
    """Count the open waits by kind, watches left out."""
    return Counter(wait.kind.value for wait in instance.waits.values() if not wait.side)


def runs_of(instance: Instance, step: str) -> list[str]:
    """List what became of each run of a step, in the order begun."""
    last: dict[int, str] = {}
    for run in instance.trace:
        if run.step == step:
            last[run.run] = run.status.value
    return list(last.values())


def _described(name: str) -> Callable[["Play", Any, Json], list[str]]:
    def look(play: "Play", instance: Instance, wanted: Json) -> list[str]:
        return compare(describe(play, instance)[name], wanted, name)

    return look


def _expect_waits(_play: "Play", instance: Instance, wanted: Json) -> list[str]:
    found = open_waits(instance)
    return compare({kind: found[kind] for kind in wanted}, wanted, "waits")


def _expect_tasks(play: "Play", instance: Instance, wanted: Json) -> list[str]:
    if isinstance(wanted, list):
        return _expect_exactly(play, instance, wanted)
    failures = []
    for name, asked in wanted.items():
        same = _named(play, instance, name)
        found: Json = len(same) if isinstance(asked, int) else _task_as_json(same[0]) if same else None
        failures += compare(found, asked, f"tasks.{name}")
    return failures


def _expect_exactly(play: "Play", instance: Instance, wanted: list[Json]) -> list[str]:
    """Compare all open tasks with a list of names; one that says which of several takes that one."""
    taken: dict[int, str] = {}
    for name in (str(one) for one in wanted if "[" in str(one) or "/" in str(one)):
        task = next((one for one in _named(play, instance, name) if id(one) not in taken), None)
        if task is not None:
            taken[id(task)] = name
    others = [task.wait.step for task in instance.open_tasks() if id(task) not in taken]
    return compare(sorted([*others, *taken.values()]), sorted(wanted), "tasks")


def _named(play: "Play", instance: Instance, name: str) -> list[Task]:
    """List the open tasks that a name means, also those of children: `sub/ask`."""
    where, _, task = name.rpartition("/")
    cases = play.inside(instance, where) if where else [instance]
    return [found for one in cases for found in one.open_tasks() if task in names_of(found.wait)]


def _task_as_json(task: Task) -> dict[str, Json]:
    found = task.wait.task
    assert found is not None
    return {
        "assignee": task.assignee,
        "roles": list(found.roles),
        "users": list(found.users),
        "title": found.title,
        "values": dict(found.payload),
        "priority": found.priority,
        "status": task.status.value,
    }


def _expect_runs(_play: "Play", instance: Instance, wanted: Json) -> list[str]:
    return [line for step, asked in wanted.items() for line in compare(runs_of(instance, step), asked, f"runs.{step}")]


def _expect_task_runs(_play: "Play", instance: Instance, wanted: Json) -> list[str]:
    failures = []
    for step, asked in wanted.items():
        found = [task.status.value for _, task in sorted(instance.tasks.items()) if task.wait.step == step]
        failures += compare(found, asked, f"task_runs.{step}")
    return failures


def _expect_calls(_play: "Play", instance: Instance, wanted: Json) -> list[str]:
    found = {step: instance.calls[step] for step in wanted}
    return compare(found, wanted, "calls")


def _expect_requests(_play: "Play", instance: Instance, wanted: Json) -> list[str]:
    failures = []
    for step, asked in wanted.items():
        made = [dict(call.request) for name, call in instance.requests if name == step]
        found = made if isinstance(asked, list) else made[-1] if made else None
        failures += compare(found, asked, f"requests.{step}")
    return failures


def _expect_keys(_play: "Play", instance: Instance, wanted: Json) -> list[str]:
    """Compare the keys under which calls were made, the id of the instance written as `instance`."""
    own, failures = f"{instance.facts.id}:", []
    for step, asked in wanted.items():
        keys = [call.key for name, call in instance.requests if name == step]
        made = [f"instance:{key.removeprefix(own)}" if key.startswith(own) else key for key in keys]
        found = made if isinstance(asked, list) else made[-1] if made else None
        failures += compare(found, asked, f"keys.{step}")
    return failures


def _expect_started(play: "Play", _instance: Instance, wanted: Json) -> list[str]:
    found = Counter(one.definition.name for one in play.world.instances if one is not play.main)
    return compare({name: found[name] for name in wanted}, wanted, "started")


def _expect_instances(play: "Play", _instance: Instance, wanted: Json) -> list[str]:
    failures = []
    for name, asked in wanted.items():
        found = play.find(name)
        if found is None:
            failures.append(f"there is no instance {name}")
        else:
            failures += [f"{name}: {line}" for line in check_expectation(play, found, asked)]
    return failures


def _expect_due(play: "Play", instance: Instance, wanted: Json) -> list[str]:
    failures = []
    for step, asked in wanted.items():
        waits = [wait for wait in instance.waits.values() if wait.step == step and not wait.side]
        due = [instance.tasks[wait.token].task.due_at if wait.task is not None else wait.due_at for wait in waits]
        found = play.world.spell(next((moment for moment in due if moment is not None), None))
        failures += compare(found, asked, f"due.{step}")
    return failures


def _expect_counts(_play: "Play", instance: Instance, wanted: Json) -> list[str]:
    found = {step: len(runs_of(instance, step)) for step in wanted}
    return compare(found, wanted, "counts")


def _expect_order(_play: "Play", instance: Instance, wanted: Json) -> list[str]:
    path = ids_passed(instance)
    failures = []
    for before, after in wanted:
        if before not in path or after not in path or path.index(before) > path.index(after):
            failures.append(f"{before} did not come before {after}")
    return failures


def _expect_absent(play: "Play", instance: Instance, wanted: Json) -> list[str]:
    found = describe(play, instance)
    return [f"{path} is there, where nothing was expected" for path in wanted if _there(found, str(path).split("."))]


def _there(value: Json, path: list[str]) -> bool:
    for part in path:
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True


def _expect_refused(play: "Play", _instance: Instance | None, wanted: Json) -> list[str]:
    if play.refused is None:
        return ["the start was not refused"]
    found = {"code": play.refused.code, "fields": list(play.refused.fields)}
    return [] if wanted is True else compare(found, {"code": wanted} if isinstance(wanted, str) else wanted, "refused")


EXPECTATIONS: Mapping[str, Callable[["Play", Any, Json], list[str]]] = {
    **{name: _described(name) for name in ("status", "outcome", "output", "state", "results", "error", "path")},
    "waits": _expect_waits,
    "tasks": _expect_tasks,
    "runs": _expect_runs,
    "task_runs": _expect_task_runs,
    "completed": lambda play, instance, wanted: compare(instance.completed, wanted, "completed"),
    "calls": _expect_calls,
    "requests": _expect_requests,
    "keys": _expect_keys,
    "started": _expect_started,
    "instances": _expect_instances,
    "due": _expect_due,
    "counts": _expect_counts,
    "emitted": lambda play, instance, wanted: compare(instance.emitted, wanted, "emitted"),
    "order": _expect_order,
    "absent": _expect_absent,
    "refused": _expect_refused,
}
"""How each key of `expect` is looked at."""
