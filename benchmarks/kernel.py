"""Measure slices per second on one core: ten tasks in line with real expressions, the snapshot through JSON at every wait.

`python -m benchmarks.kernel` prints one table: the line, then its growth with business state and with parallel items.
Each row is played in eighty short rounds of the process's own time. The best round says what a core can do; the median
next to it says how much the machine's other work took away meanwhile.
"""

import json
import statistics
import time
from datetime import UTC, datetime

from engine.kernel.definition import compile_definition
from engine.kernel.interpreter.run_to_wait import advance
from engine.kernel.json_text import read_json, write_json
from engine.kernel.language.normalizer import normalize
from engine.kernel.program import Definition
from engine.kernel.signals import Environment, InstanceFacts, Json, Started, TaskCompleted
from engine.kernel.snapshot import Snapshot

NOW = datetime(2030, 1, 7, 9, tzinfo=UTC)
FACTS = InstanceFacts("i-1", "bench", 1, "ann", NOW)
ROUNDS = 80


def compiled(steps: list[Json], padding: int) -> Definition:
    """Compile a template of the bench with so many bytes of state."""
    filling = {f"key{number}": "x" * 92 for number in range(padding // 100)}
    source = {"workflow": "bench", "state": {"padding": filling, "n": 0}, "steps": steps}
    found = normalize(json.dumps(source))
    assert found.canonical is not None, found.findings
    return compile_definition(found.canonical)


def line(tasks: int, padding: int = 1_000) -> Definition:
    """Ten tasks in line; between them a condition and a write."""
    steps: list[Json] = []
    for number in range(tasks):
        steps.append({"id": f"t{number}", "task": {"title": "Task ${state.n} of ${instance.id}", "roles": ["finance"]}})
        steps.append({"id": f"s{number}", "when": "state.n >= 0 && start.amount > 3", "set": {"n": "${state.n + 1}"}})
    return compiled(steps, padding)


def items(count: int) -> Definition:
    """One task for each of many items, all open at once."""
    each = {"each": list(range(count)), "limit": 1000, "steps": [{"id": "t", "task": {"title": "Item ${item}"}}]}
    return compiled([{"id": "all", "for_each": each}], 1_000)


def run(definition: Definition, seconds: float) -> tuple[float, int]:
    """Play cases for a while; return slices per second and the largest snapshot in bytes."""
    slices, largest, began = 0, 0, time.process_time()
    while time.process_time() - began < seconds:
        stored, count = _case(definition)
        slices += count
        largest = max(largest, stored)
    return slices / (time.process_time() - began), largest


def _case(definition: Definition) -> tuple[int, int]:
    found = advance(definition, None, FACTS, [Started({"amount": 5})], Environment(NOW))
    tokens = [wait.token for wait in found.opened]
    slices, largest = 1, 0
    while tokens:
        text = write_json(found.snapshot.to_json())
        largest = max(largest, len(text))
        snapshot = Snapshot.from_json(read_json(text))
        found = advance(definition, snapshot, FACTS, [TaskCompleted(tokens.pop(0), "done", "bob")], Environment(NOW))
        tokens += [wait.token for wait in found.opened]
        slices += 1
    return largest, slices


def main(seconds: float = 0.05) -> None:
    """Print the table."""
    rows = [
        ("10 tasks in line, 1 KB of state", line(10)),
        ("10 tasks in line, 10 KB of state", line(10, 10_000)),
        ("10 tasks in line, 100 KB of state", line(10, 100_000)),
        ("1 item", items(1)),
        ("10 parallel items", items(10)),
        ("100 parallel items", items(100)),
    ]
    print(f"{'workload':<36}{'slices/s':>10}{'median':>10}{'snapshot bytes':>16}")  # noqa: T201
    for name, definition in rows:
        run(definition, seconds)  # the first round warms caches up
        rounds = [run(definition, seconds) for _ in range(ROUNDS)]
        rates = [rate for rate, _ in rounds]
        print(f"{name:<36}{max(rates):>10,.0f}{statistics.median(rates):>10,.0f}{rounds[0][1]:>16,}")  # noqa: T201


if __name__ == "__main__":
    main()
