"""Find the words of a test that mean nothing: such a test would be green whatever happens.

Keys and verbs are those of this package; steps, tasks, children and instances must be there in the workflow, or in those at hand.
People need not be declared, but a name that is nearly that of a declared person is reported as a typo.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.kernel.effects import WaitKind
from engine.kernel.errors import ErrorClass
from engine.kernel.findings import did_you_mean
from engine.kernel.program import Definition
from engine.kernel.signals import Json
from engine.kernel.simulator.expectations import EXPECTATIONS

Path = tuple[str | int, ...]
Scope = tuple[Definition, ...]

TEST_KEYS = (
    "name", "as", "people", "at", "start", "answers", "calls", "signals", "calendars", "do", "expect", "description",
)  # fmt: skip
PERSON_KEYS = ("roles", "level", "manager")
SIGNAL_KEYS = ("with", "key", "ttl", "all", "delivered", "by")
ACT_KEYS: Mapping[str, tuple[str, ...]] = {
    "complete": ("by", "with"),
    "claim": ("by",),
    "release": ("by", "with"),
    "assign": ("by", "with"),
    "ask": ("by", "with"),
    "answer": ("by",),
    "withdraw": ("by",),
    "skip": ("by", "with"),
    "redo": ("by",),
    "operate": ("by", "with", "input"),
    "signal": SIGNAL_KEYS,
    "advance": (),
    "outage": (),
    "start": ("name", "workflow", "by"),
    "expect": (),
}
"""The keys that each verb of `do` may have."""
BESIDE_ANY = ("in", "refused", "again")
TASK_VERBS = ("complete", "claim", "release", "assign", "ask", "answer", "withdraw", "skip", "redo")
STEP_VERBS = (*TASK_VERBS, "operate")
CALL_KEYS = ("status", "body", "headers", "data", "errors", "result", "error", "code", "message", "id")
REFUSALS = (
    "answered", "claimed", "closed", "comment_required", "four_eyes", "invalid", "level", "limit", "moved_on", "not_candidate",
    "not_found", "reference", "refused", "status", "waiting", "wip_limit",
)  # fmt: skip
"""The codes by which acts and starts are refused."""
TASK_WORDS = ("assignee", "roles", "users", "title", "values", "priority", "status")
SHOWN = ("status", "outcome", "output", "state", "results", "error", "path", "tasks", "waits", "now")
EMITTED_WORDS = ("signal", "event", "notice", "key", "payload")
BY_STEP = ("runs", "counts", "calls", "requests", "keys", "due", "results")
NEARLY = 0.8
"""How alike two names of people are when one is reported as a typo."""


@dataclass(frozen=True, slots=True)
class Misspelt:
    """A word that means nothing: where it is in the test, as a key or as a value, and its message."""

    path: Path
    word: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


def misspelt(definitions: Mapping[str, Definition], name: str, test: Mapping[str, Json]) -> list[Misspelt]:
    """List every word of a test that means nothing."""
    spelling = _Spelling(definitions, name, test)
    spelling.check()
    return spelling.found


class _Spelling:
    """One test while it is read."""

    def __init__(self, definitions: Mapping[str, Definition], name: str, test: Mapping[str, Json]) -> None:
        self.definitions = definitions
        self.main = definitions[name]
        self.test = test
        self.people = _mapping(test.get("people"))
        self.found: list[Misspelt] = []
        acts = [act for act in _list(test.get("do")) if isinstance(act, dict) and "start" in act]
        workflows = [str(act.get("workflow") or name) for act in acts]
        self.started = {str(act.get("name", flow)): flow for act, flow in zip(acts, workflows, strict=True)}

    def note(self, path: Path, message: str, word: str, known: Iterable[str]) -> None:
        self.found.append(Misspelt(path, word, message, did_you_mean(word, known)))

    def nearly(self, path: Path, word: Json, known: Iterable[str], message: str, other: str) -> None:
        """Note a word that need not be known but is nearly one that is."""
        words = list(known)
        near = difflib.get_close_matches(str(word), words, n=1, cutoff=NEARLY)
        if isinstance(word, str) and word not in words and near:
            self.found.append(Misspelt(path, word, message, f"did you mean `{near[0]}`? If not, {other}"))

    def known(self, path: Path, word: Json, known: Iterable[str], said: str) -> None:
        """Note a word that is none of those known; `said` names it by `{}`."""
        words = list(known)
        if word not in words:
            self.note(path, said.format(word), str(word), words)

    def keys(self, path: Path, given: Json, known: Iterable[str], said: str) -> None:
        for key in _mapping(given):
            self.known((*path, key), key, known, said)

    def check(self) -> None:
        self.keys((), self.test, TEST_KEYS, "a test has no key {}")
        for name, one in self.people.items():
            self.keys(("people", name), one, PERSON_KEYS, f"{name} has roles, a level and a manager, no key {{}}")
            for role in _list(_mapping(one).get("roles")):
                said = f"no workflow at hand knows the role {role}"
                self.nearly(("people", name, "roles"), role, self.roles, said, "choose a name that differs more")
            self.person(("people", name, "manager"), _mapping(one).get("manager"))
        self.person(("as",), self.test.get("as"))
        for place, entry in enumerate(_list(self.test.get("signals"))):
            self.keys(("signals", place), entry, ("name", "at", *SIGNAL_KEYS), "a signal has no key {}")
            if isinstance(entry, dict):
                self.signal(("signals", place, "name"), entry.get("name"))
        self.answers()
        self.calls()
        for place, act in enumerate(_list(self.test.get("do"))):
            self.act(("do", place), act)
        self.expectation(("expect",), self.test.get("expect"), (self.main,))

    # Names

    def person(self, path: Path, name: Json) -> None:
        """Report a name that is nearly that of a declared person."""
        message = f"{_place(path)}there is no {name} among the people"
        self.nearly(path, name, self.people, message, f"declare {name} under people")

    def case(self, path: Path, label: str, within: Scope = ()) -> Scope:
        """Find which workflow an instance has, by its label; report one that no instance can have."""
        scope: Scope = within or (self.main,)
        for place, part in enumerate(_base(one) for one in label.split("/")):
            inner = _children(scope)
            known = {
                **inner,
                **({**dict(zip(self.definitions, self.definitions, strict=True)), **self.started} if not place else {}),
            }
            if part not in known:
                self.note(path, f"{_place(path)}there is no instance named {part}", part, known)
                return self.everywhere
            workflow = known[part]
            scope = (self.definitions[workflow],) if workflow in self.definitions else self.everywhere
        return scope

    @property
    def everywhere(self) -> Scope:
        return tuple(self.definitions.values())

    def step(self, path: Path, word: Json, scope: Scope, *, task: bool = False) -> None:
        """Note a step that the workflow does not have, or that is no task where one is meant."""
        name = str(word)
        if "/" in name:
            label, _, name = name.rpartition("/")
            scope = self.case(path, label, scope)
        known = [one.id for definition in scope for one in definition.steps.values() if one.kind == "task" or not task]
        if _base(name) not in known:
            what = "task" if task else "step"
            self.note(path, f"{_place(path)}the workflow has no {what} named {_base(name)}", _base(name), known)

    def signal(self, path: Path, name: Json) -> None:
        """Note a signal that no workflow at hand names, wherever that may be."""
        heads = [{**one.canonical, "tests": None} for one in self.definitions.values()]
        if name not in {text for head in heads for text in _texts(head)}:
            known = [one for head in heads for one in _signals(head)]
            self.note(path, f"{_place(path)}no step waits for a signal named {name}", str(name), known)

    @property
    def roles(self) -> set[str]:
        return {role for one in self.definitions.values() for role in one.canonical["requires"]["roles"]}

    # Answers and acts

    def answers(self) -> None:
        for name, given in _mapping(self.test.get("answers")).items():
            self.step(("answers", name), name, (self.main,), task=True)
            for answer in given if isinstance(given, list) else [given]:
                self.person(("answers", name), _mapping(answer).get("by"))

    def calls(self) -> None:
        for name, given in _mapping(self.test.get("calls")).items():
            self.step(("calls", name), name, (self.main,))
            for answer in given if isinstance(given, list) else [given]:
                self.keys(("calls", name), answer, CALL_KEYS, f"the answer to {name} has no key {{}}")
                if "error" in _mapping(answer):
                    self.known(("calls", name), answer["error"], ErrorClass, "there is no error class {}")

    def act(self, path: Path, act: Json) -> None:
        verb = next((key for key in _mapping(act) if key in ACT_KEYS), None)
        if verb is None:
            word = next(iter(_mapping(act)), "")
            self.note((*path, word) if word else path, f"{_place(path)}unknown verb", word, ACT_KEYS)
            return
        known = (verb, *ACT_KEYS[verb], *BESIDE_ANY)
        self.keys(path, act, known, f"{_place(path)}{verb} has no key {{}}")
        self.refusal((*path, "refused"), act.get("refused"))
        self.person((*path, "by"), act.get("by"))
        scope = self.case((*path, "in"), str(act["in"])) if "in" in act else (self.main,)
        if verb in STEP_VERBS:
            self.step((*path, verb), act[verb], scope, task=verb in TASK_VERBS)
        elif verb == "expect":
            self.expectation((*path, verb), act[verb], scope)
        elif verb == "signal" and act.get("delivered") != 0:
            self.signal((*path, verb), act[verb])
        elif verb == "start" and "workflow" in act:
            self.known((*path, "workflow"), act["workflow"], self.definitions, "there is no workflow named {} at hand")
        if verb == "signal" and "key" not in act:
            for word in ("all", "ttl"):
                if word in act:
                    self.note((*path, word), f"{_place(path)}{word} only works with key", word, ())
        if verb in ("assign", "ask"):
            given = act.get("with")
            self.person((*path, "with"), given.get("user") if isinstance(given, dict) else given)

    def refusal(self, path: Path, code: Json) -> None:
        if code is not None and not isinstance(code, bool):
            self.known(path, code, REFUSALS, f"{_place(path)}there is no refusal code {{}}")

    # Expectations

    def expectation(self, path: Path, expected: Json, scope: Scope) -> None:
        self.keys(path, expected, EXPECTATIONS, "nothing named {} can be expected")
        for key, wanted in _mapping(expected).items():
            inner = (*path, key)
            if key in BY_STEP:
                for name in _mapping(wanted):
                    self.step((*inner, name), name, scope)
            elif key in _LOOKS:
                _LOOKS[key](self, inner, wanted, scope)

    def tasks(self, path: Path, wanted: Json, scope: Scope) -> None:
        for place, name in (
            enumerate(wanted) if isinstance(wanted, list) else ((name, name) for name in _mapping(wanted))
        ):
            self.step((*path, place), name, scope, task=True)
        for name, asked in _mapping(wanted).items():
            self.keys((*path, name), asked, TASK_WORDS, "a task has no key {}")

    def steps(self, path: Path, wanted: Json, scope: Scope) -> None:
        for place, name in enumerate(_list(wanted)):
            self.step((*path, place), name, scope)

    def task_names(self, path: Path, wanted: Json, scope: Scope) -> None:
        for name in _list(wanted) or _mapping(wanted):
            self.step(path, name, scope, task=True)

    def order(self, path: Path, wanted: Json, scope: Scope) -> None:
        for place, pair in enumerate(_list(wanted)):
            self.steps((*path, place), pair, scope)

    def waits(self, path: Path, wanted: Json, _scope: Scope) -> None:
        self.keys(path, wanted, WaitKind, "there is no kind of wait named {}")

    def started_ones(self, path: Path, wanted: Json, scope: Scope) -> None:
        known = {*self.definitions, *(name for one in scope for name in one.canonical["requires"]["workflows"])}
        self.keys(path, wanted, known, "there is no workflow named {} at hand")

    def instances(self, path: Path, wanted: Json, _scope: Scope) -> None:
        for name, expected in _mapping(wanted).items():
            self.expectation((*path, name), expected, self.case((*path, name), name))

    def emitted(self, path: Path, wanted: Json, _scope: Scope) -> None:
        for place, entry in enumerate(_list(wanted)):
            self.keys((*path, place), entry, EMITTED_WORDS, "an emitted entry has no key {}")

    def absent(self, path: Path, wanted: Json, scope: Scope) -> None:
        for place, entry in enumerate(_list(wanted)):
            first, _, rest = str(entry).partition(".")
            self.known((*path, place), first, SHOWN, "nothing named {} can be absent")
            if first == "results" and rest:
                self.step((*path, place), rest.partition(".")[0], scope)

    def refused(self, path: Path, wanted: Json, _scope: Scope) -> None:
        self.keys(path, wanted, ("code", "fields"), "a refusal has a code and fields, no key {}")
        self.refusal(path, wanted.get("code") if isinstance(wanted, dict) else wanted)


_LOOKS: Mapping[str, Any] = {
    "tasks": _Spelling.tasks,
    "path": _Spelling.steps,
    "task_runs": _Spelling.task_names,
    "completed": _Spelling.task_names,
    "order": _Spelling.order,
    "waits": _Spelling.waits,
    "started": _Spelling.started_ones,
    "instances": _Spelling.instances,
    "emitted": _Spelling.emitted,
    "absent": _Spelling.absent,
    "refused": _Spelling.refused,
}
"""How the words of each expectation are looked at, where it holds any."""


def _children(scope: Scope) -> dict[str, str]:
    """Return the steps that start other workflows, and which."""
    steps = [step for definition in scope for step in definition.steps.values()]
    return {step.id: str(_mapping(step.raw.get(step.kind)).get("name")) for step in steps if step.kind == "workflow"}


def _signals(value: Json) -> Iterator[str]:
    """Return the names of the signals that a workflow waits for or sends."""
    for inner in value if isinstance(value, list) else _mapping(value).values():
        yield from _signals(inner)
    named = _mapping(value).get("signal")
    found = _mapping(named).get("name", named)
    if isinstance(found, str):
        yield found


def _texts(value: Json) -> Iterator[str]:
    """Return every text in a workflow."""
    if isinstance(value, str):
        yield value
    for inner in value if isinstance(value, list) else _mapping(value).values():
        yield from _texts(inner)


def _base(name: str) -> str:
    """Take the number of an item, a round or a run off a name."""
    return re.split(r"[\[#]", name, maxsplit=1)[0]


def _mapping(value: Json) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Any]:
    return value if isinstance(value, list) else []


def _place(path: Path) -> str:
    """Return where in the test a word is, for words that are allowed anywhere."""
    if path[0] == "do" and len(path) > 1:
        return f"act {int(path[1]) + 1}: "
    return f"{path[0]}: "
