"""Try a version by hand: start it, answer its tasks in their real forms, move the clock, and keep the run as a test.

The page carries the trial (engine.services.templates.trial_runs): every button sends all actions so far and one more.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from engine.admin.authoring.pages import NAME, frame
from engine.admin.authoring.previews import steps_of
from engine.admin.authoring.version_actions import is_draft
from engine.admin.permissions import actor_of
from engine.diagram.step_names import label_of, name_of
from engine.diagram.step_states import states_of
from engine.diagram.svg import draw
from engine.errors import Conflict, Invalid, Unprocessable
from engine.kernel.effects import StepRun
from engine.kernel.forms import check_values
from engine.kernel.signals import Json
from engine.kernel.timing.periods import parse_moment, spell_moment
from engine.models import TemplateVersion
from engine.presentation.forms.form import SchemaForm
from engine.presentation.forms.task_form import TaskForm, comment_rule
from engine.presentation.forms.values import facts_of
from engine.services.templates import trial_runs
from engine.services.templates.diagrams import geometry_of
from engine.services.templates.trial_runs import Trial, TriedTask, try_version

Test = dict[str, Json]
CLOCK = "trial_clock"
"""The field with the start time of a trial."""


class Unfit(Exception):
    """The entry cannot become an action; without words, it only adds or removes a row of the form."""

    def __init__(self, code: str = "", words: str = "") -> None:
        super().__init__(words)
        self.code = code


@dataclass(frozen=True, slots=True)
class Asked:
    """One open task on the page, with its form."""

    tried: TriedTask
    form: TaskForm
    here: str


@dataclass(slots=True)
class Turn:
    """One request: the trial so far, what was typed, and what is wrong with it."""

    request: HttpRequest
    version: TemplateVersion
    test: Test
    start: SchemaForm
    answered: Asked | None = None
    problem: str = ""
    code: str = ""

    def refuse(self, code: str, words: str) -> None:
        self.code, self.problem = code, words

    def play(self, test: Test) -> Trial:
        actor = actor_of(self.request)
        return try_version(actor=actor, name=self.version.template.name, number=self.version.number, test=test)

    def typed(self, name: str) -> str:
        return str(self.request.POST.get(name, "")).strip()


def try_page(page: Any, request: HttpRequest, version: TemplateVersion) -> HttpResponse:
    """Show a trial, after applying the action that was sent."""
    canonical = version.canonical or {}
    sent = request.POST if request.POST.get("act") == "start" else None
    turn = Turn(request, version, _read_test(request), SchemaForm(canonical.get("input"), sent))
    try:
        if request.POST.get("act") == "keep":
            kept = _keep(turn)
            if kept is not None:
                return kept
        elif request.method == "POST":
            turn.test = _next(turn)
        trial = turn.play(turn.test) if turn.test else None
    except (Unprocessable, Invalid, Conflict) as refusal:
        turn.refuse(refusal.code, refusal.message)
        trial = None
    return TemplateResponse(request, "admin/authoring/try.html", _context(page, turn, trial))


def _read_test(request: HttpRequest) -> Test:
    """Read the trial that the page carries; anything invalid gives an empty one."""
    try:
        found = json.loads(request.POST.get("test", "") or "{}")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or not isinstance(found.get("do", []), list):
        return {}
    return {key: value for key, value in found.items() if key in trial_runs.KEPT_KEYS}


def _next(turn: Turn) -> Test:
    """Add one action to the trial; a refused one is reported and left out."""
    act = ACTS.get(turn.typed("act"))
    if act is None:
        return turn.test
    try:
        wanted = act(turn)
        if not wanted:
            return {}
        trial = turn.play(wanted)
    except Unfit as problem:
        turn.refuse(problem.code, str(problem))
        return turn.test
    if trial.problem:
        turn.refuse("refused", trial.problem)
        _show_errors(turn, trial)
        return turn.test
    turn.answered = None
    return wanted


def _show_errors(turn: Turn, trial: Trial) -> None:
    """Show at the fields what the interpreter refused."""
    if turn.answered is None and not turn.start.is_bound:
        return
    schema = turn.answered.tried.task.form if turn.answered else (turn.version.canonical or {}).get("input")
    form: SchemaForm = turn.answered.form if turn.answered else turn.start
    _filled, problems = check_values(dict(schema or {}) or None, form.values())
    if problems:
        form.take_errors(problems)
        turn.refuse("invalid", f"Check these fields: {', '.join(place.label for place in form.wrong_places())}.")


def _start(turn: Turn) -> Test:
    if turn.start.asks_for_rows:
        turn.start = turn.start.begun_again()
        raise Unfit
    if not turn.start.is_valid():
        raise Unfit("invalid", "Check the start form.")
    return {"at": _clock(turn), "start": turn.start.values(), "do": []}


def _clock(turn: Turn) -> str:
    """Return the start time: as typed, else now. It is part of the trial, so that a kept run does not change."""
    text = turn.typed(CLOCK)
    try:
        return spell_moment(parse_moment(f"{text}Z" if text else _now()))
    except ValueError as problem:
        raise Unfit("clock", "Enter a date and a time, such as 2030-01-07T09:00.") from problem


def _now() -> str:
    return f"{timezone.now().astimezone(UTC):%Y-%m-%dT%H:%M}Z"


def _complete(turn: Turn) -> Test:
    asked = _asked_task(turn)
    turn.answered = asked
    if asked.form.asks_for_rows:
        form = asked.form.begun_again()
        form.auto_id = asked.form.auto_id
        turn.answered = Asked(asked.tried, form, asked.here)
        raise Unfit
    if not asked.form.is_valid():
        raise Unfit("invalid", "Check the answer.")
    given: Test = {**asked.form.values(), "outcome": turn.typed("outcome")}
    if asked.form.comment():
        given["comment"] = asked.form.comment()
    act: Test = {"complete": asked.tried.name, "with": given}
    if asked.tried.within:
        act["in"] = asked.tried.within
    if turn.typed("by"):
        act["by"] = turn.typed("by")
    return _with_act(turn, act)


def _asked_task(turn: Turn) -> Asked:
    trial = turn.play(turn.test)
    for place, tried in enumerate(trial.tasks):
        if (tried.name, tried.within) == (turn.typed("task"), turn.typed("within")):
            return _ask(tried, place, turn.request.POST)
    raise Unfit("task_over", "This task is no longer open.")


def _ask(tried: TriedTask, place: int, sent: Any = None) -> Asked:
    task = tried.task
    outcomes = [{"title": one.title, "comment": one.comment, "reject": one.reject} for one in task.outcomes]
    form = TaskForm(task.form or None, sent, dict(task.payload), comment=comment_rule(outcomes, task.comment))
    form.auto_id = f"id_task{place}_%s"
    return Asked(tried, form, f"task{place}")


def _advance(turn: Turn) -> Test:
    return _with_act(turn, {"advance": turn.typed("for") or "P1D"})


def _signal(turn: Turn) -> Test:
    payload = _json(turn.typed("with"), "The payload") if turn.typed("with") else None
    act: Test = {"signal": turn.typed("name")} | ({"with": payload} if payload is not None else {})
    return _with_act(turn, act | ({"key": turn.typed("key")} if turn.typed("key") else {}))


def _stub(turn: Turn) -> Test:
    answer = _json(turn.typed("answer"), "The response")
    if not isinstance(answer, dict):
        raise Unfit("stub", 'Enter an object such as {"status": 200, "body": {}}.')
    return {**turn.test, "calls": {**(turn.test.get("calls") or {}), turn.typed("step"): answer}}


def _undo(turn: Turn) -> Test:
    done = list(turn.test.get("do") or ())
    return {**turn.test, "do": done[:-1]} if done else {}


def _again(turn: Turn) -> Test:
    return {}


def _with_act(turn: Turn, act: Test) -> Test:
    return {**turn.test, "do": [*(turn.test.get("do") or ()), act]}


def _json(text: str, what: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise Unfit("json", f"{what} is not valid JSON.") from problem


ACTS: Mapping[str, Callable[[Turn], Test]] = {
    "start": _start,
    "complete": _complete,
    "advance": _advance,
    "signal": _signal,
    "stub": _stub,
    "undo": _undo,
    "again": _again,
}


def _keep(turn: Turn) -> HttpResponse | None:
    version = turn.version
    revision = turn.typed("revision")
    try:
        saved = trial_runs.keep_as_test(
            actor=actor_of(turn.request),
            name=version.template.name,
            number=version.number,
            title=turn.typed("title"),
            test=turn.test,
            revision=int(revision) if revision.isdigit() and len(revision) < 10 else None,
        )
    except (Invalid, Conflict) as refusal:
        turn.refuse(refusal.code, refusal.message)
        return None
    words = f"Saved as the test “{turn.typed('title')}”. It is run for every later version."
    messages.success(turn.request, words, extra_tags="test.kept")
    return redirect(f"{NAME}change", quote(saved.pk))


# What the page shows


def _context(page: Any, turn: Turn, trial: Trial | None) -> dict[str, Any]:
    version = turn.version
    return {
        **frame(page, turn.request, version, "try"),
        "wf_trial": trial,
        "wf_test": json.dumps(turn.test, ensure_ascii=False),
        "wf_problem": turn.problem or (trial.problem if trial else ""),
        "wf_problem_code": turn.code or "refused",
        "wf_start": turn.start,
        "wf_clock": CLOCK,
        "wf_begins": turn.typed(CLOCK) or _now().removesuffix("Z"),
        "wf_tasks": _tasks(turn, trial) if trial else [],
        "wf_names": _names(version),
        "wf_lines": _lines(version, trial) if trial else [],
        "wf_state": facts_of(trial.state) if trial and trial.state else [],
        "wf_output": facts_of(trial.output) if trial and isinstance(trial.output, dict) and trial.output else [],
        "wf_calls": _calls(version, turn.test, trial),
        "wf_picture": _picture(version, trial),
        "wf_can_keep": is_draft(actor_of(turn.request), version),
        "wf_readable": version.canonical is not None,
    }


def _tasks(turn: Turn, trial: Trial) -> list[Asked]:
    answered = turn.answered
    return [
        answered if answered and answered.here == f"task{place}" else _ask(tried, place)
        for place, tried in enumerate(trial.tasks)
    ]


def _names(version: TemplateVersion) -> dict[str, str]:
    return {step["path"]: name_of(step) for _kind, step in steps_of(version)}


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One run of a step, as the page shows it."""

    at: Any
    name: str
    status: str
    why: str
    words: str


STATUS_WORDS = {
    "pending": "not yet", "running": "open", "success": "done", "failed": "failed", "skipped": "skipped",
    "retrying": "retrying", "timed_out": "timed out", "cancelled": "withdrawn", "compensated": "undone",
}  # fmt: skip


def _lines(version: TemplateVersion, trial: Trial) -> list[TracedStep]:
    """Return the trace, one line per run with its last status, newest first."""
    names = _names(version)
    runs: dict[tuple[int, int], tuple[Any, StepRun]] = {}
    for run in trial.trace:
        began = runs.get((run.run, run.attempt), (run.at, run))[0]
        runs[run.run, run.attempt] = (began, run)
    told = [
        TracedStep(
            began,
            names.get(run.path) or label_of(run.step),
            run.status.value,
            "" if _why(run) == STATUS_WORDS.get(run.status.value) else _why(run),
            STATUS_WORDS.get(run.status.value, run.status.value),
        )
        for began, run in runs.values()
    ]
    return told[::-1]


def _why(run: StepRun) -> str:
    if run.error:
        return run.error.message or run.error.code
    return run.reason or ""


@dataclass(frozen=True, slots=True)
class CallStub:
    """A call of the template, how often the trial made it, and the response it gets."""

    step: str
    name: str
    transport: str
    made: int
    asked: str
    answer: str


def _calls(version: TemplateVersion, test: Test, trial: Trial | None) -> list[CallStub]:
    made = trial.calls if trial else ()
    stubs = test.get("calls") or {}
    found = []
    for kind, step in steps_of(version):
        if kind != "call":
            continue
        mine = [call for call in made if call.step == step["id"]]
        transport = next(key for key in step["call"] if key not in ("into", "key"))
        asked = json.dumps(mine[-1].request, ensure_ascii=False) if mine else ""
        answer = json.dumps(stubs.get(step["id"], USUAL.get(transport, {"result": {}})), ensure_ascii=False)
        found.append(CallStub(step["id"], name_of(step), transport, len(mine), asked, answer))
    return found


USUAL: Mapping[str, Json] = {
    "http": {"status": 200, "body": {}},
    "graphql": {"data": {}},
    "email": {"id": "mail"},
}


def _picture(version: TemplateVersion, trial: Trial | None) -> str:
    geometry = geometry_of(version)
    if geometry is None:
        return ""
    return draw(geometry, states_of(trial.trace) if trial else None, alone=False)
