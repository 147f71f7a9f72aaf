"""Read the patterns and play them: every act, then exactly the waits that must be open."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from engine.kernel.definition import compile_definition
from engine.kernel.language.normalizer import normalize
from engine.kernel.signals import CancelCase, NamedSignal, TaskClaimed, TaskCompleted, TaskReleased
from engine.kernel.simulator.instance import Instance
from engine.kernel.simulator.world import World

BOOK = Path(__file__).parent / "control_flow.yaml"


@dataclass(frozen=True)
class Pattern:
    """One pattern: its template, plays and neighbours."""

    number: int
    name: str
    template: str
    plays: tuple[list[dict[str, Any]], ...]
    mutants: tuple[dict[str, str], ...]


def read_book() -> list[Pattern]:
    """Read all patterns."""
    yaml = YAML(typ="safe", pure=True)
    found = [one for one in yaml.load_all(BOOK.read_text()) if one]
    return [
        Pattern(one["number"], one["name"], _spelled(one["template"]), tuple(one["plays"]), tuple(one["mutants"]))
        for one in found
    ]


def _spelled(template: str) -> str:
    """Write out the short form of a task."""
    return re.sub(r"<(\w+)>", lambda match: f"{{id: {match[1]}, task: {{title: {match[1].upper()}}}}}", template)


def mutated(pattern: Pattern, mutant: dict[str, str]) -> str:
    """Return the template of a neighbour."""
    before, after = _spelled(mutant["from"]), _spelled(mutant["to"])
    assert before in pattern.template, (pattern.number, before)
    return pattern.template.replace(before, after, 1)


class Played:
    """One play of a template."""

    def __init__(self, template: str) -> None:
        whole = template if template.startswith("workflow:") else f"workflow: tried\n{template}"
        found = normalize(whole, allow_not_yet=True)
        assert found.canonical is not None, found.findings
        self.definition = compile_definition(json.loads(json.dumps(found.canonical)))
        self.world = World({self.definition.name: self.definition}, {})
        self.main: Instance
        self.gone: dict[str, tuple[Instance, int]] = {}
        self.log: list[str] = []

    def play(self, acts: list[dict[str, Any]]) -> None:
        """Do every act and look at what is open after it."""
        for entry in acts:
            ((act, wanted),) = entry.items()
            self.act(str(act))
            found = self.open() if isinstance(wanted, list) else self.main.status.value
            self.log.append(f"{act} → {', '.join(found) if isinstance(found, list) else found}")
            assert found == wanted, (act, found, wanted)
            if not isinstance(wanted, list):
                assert not any(one.waits or one.last.snapshot.frames for one in self.world.instances if one.last)

    def act(self, text: str) -> None:
        """Do one act."""
        word, _, rest = text.partition(" ")
        if word in ACTS:
            ACTS[word](self, rest)
        else:
            ACTS["complete"](self, text)

    def open(self) -> list[str]:
        """List the open waits, oldest first, a child's after its parent's."""
        return [
            f"{one.label}/{name}" if one.label else name
            for one in self.world.instances
            for name in (f"{wait.step}{wait.iteration}" for _, wait in sorted(one.waits.items()) if not wait.side)
        ]

    def find(self, name: str) -> tuple[Instance, int]:
        """Find the wait that a test means."""
        label, _, last = name.rpartition("/")
        for one in self.world.instances:
            for token, wait in sorted(one.waits.items()):
                if one.label == label and last in (wait.step, f"{wait.step}{wait.iteration}") and not wait.side:
                    self.gone.setdefault(name, (one, token))
                    self.gone[f"{wait.step}{wait.iteration}"] = (one, token)
                    return one, token
        raise AssertionError(f"{name} is not open; open: {self.open()}")

    def remember(self) -> None:
        """Keep the tokens that are open now, to try them again when they are gone."""
        for one in self.world.instances:
            for token, wait in one.waits.items():
                self.gone.setdefault(f"{wait.step}{wait.iteration}", (one, token))

    def trace(self) -> str:
        """Write what became of every step, in the order in which it ended."""
        marks = {"success": "", "cancelled": "✗", "skipped": "∅", "failed": "!", "timed_out": "⏱", "compensated": "↶"}
        return " ".join(
            f"{run.step}{run.iteration}{marks[run.status.value]}"
            for run in self.main.trace
            if run.status.value in marks and self.definition.steps[run.step].own_id
        )


def _start(played: Played, rest: str) -> None:
    played.main = played.world.start(played.definition.name, json.loads(rest or "{}"), "starter", "")


def _complete(played: Played, rest: str) -> None:
    name, _, given = rest.partition(" ")
    instance, token = played.find(name)
    played.remember()
    values = json.loads(given) if given.startswith("{") else {}
    outcome = given if given and not values else instance.tasks[token].wait.task.outcomes[0].name  # type: ignore[union-attr]
    assert played.world.send(instance, TaskCompleted(token, outcome, "bob", values))


def _late(played: Played, rest: str) -> None:
    instance, token = played.gone[rest]
    before = json.dumps(instance.snapshot.to_json()) if instance.snapshot else ""
    assert not played.world.send(instance, TaskCompleted(token, "done", "eve"))
    assert before == (json.dumps(instance.snapshot.to_json()) if instance.snapshot else "")


def _signal(played: Played, rest: str) -> None:
    played.remember()
    played.world.send(played.main, NamedSignal(rest, None, None))


def _claim(played: Played, rest: str) -> None:
    instance, token = played.find(rest)
    played.world.send(instance, TaskClaimed(token, "bob"))


def _release(played: Played, rest: str) -> None:
    instance, token = played.find(rest)
    played.world.send(instance, TaskReleased(token))


def _cancel(played: Played, _rest: str) -> None:
    played.world.send(played.main, CancelCase("no longer wanted"))


ACTS = {
    "start": _start,
    "complete": _complete,
    "late": _late,
    "signal": _signal,
    "claim": _claim,
    "release": _release,
    "cancel": _cancel,
}
