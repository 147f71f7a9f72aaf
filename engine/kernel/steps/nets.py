"""A net: tokens on explicit edges, cycles allowed.

A token is a count on an edge (`a>b`); a step that runs is a frame, and may run several times at once. Joins of kind
each, all and <n> are looked at when a token arrives; OR-joins and the end of the net only when nothing else in the
slice is ready.
"""

from collections.abc import Iterator
from typing import Any

from engine.kernel.errors import ErrorClass, StepError, business_error
from engine.kernel.machine.machine import CANCELLED, COMPLETED, FAILED, Machine
from engine.kernel.machine.messages import Ended
from engine.kernel.machine.step_start import lingering, open_step
from engine.kernel.machine.step_table import KINDS, Kind
from engine.kernel.program import Step
from engine.kernel.snapshot import Frame
from engine.kernel.steps.net_paths import can_still_come, reaches

ENTRY = ">"
"""The edge that holds the net's first token: `>start`."""


MOST_RUNS = 10_000
"""How often one step of a net may run: a circle that never waits ends as a loop does."""


class Net:
    """A running net: its frame's counters and its steps' edges."""

    def __init__(self, machine: Machine, frame: Frame) -> None:
        self.machine, self.frame = machine, frame
        self.step = machine.step_of(frame)
        self.steps = {one.id: one for one in machine.definition.lists[self.step.lists["steps"]].steps}
        self.more: Any = frame.more
        assert frame.more is not None
        self.tokens: dict[str, int] = frame.more["tok"]
        self.rounds: dict[str, list[str]] = frame.more["rnd"]

    def entries(self, name: str) -> list[str]:
        """List the edges into a step, in document order."""
        found = [f"{one.id}>{name}" for one in self.steps.values() for edge in edges(one) if edge["to"] == name]
        first = [f"{ENTRY}{name}"] if name == self.more["start"] else []
        return first + list(dict.fromkeys(found))

    def exits(self, name: str) -> list[str]:
        """List the edges out of a step."""
        return list(dict.fromkeys(f"{name}>{edge['to']}" for edge in edges(self.steps[name])))

    def take_of(self, edge: str) -> int:
        """Return how many tokens an AND-join takes from an edge."""
        source, target = edge.split(">")
        found = [one.get("take", 1) for one in edges(self.steps[source]) if one["to"] == target] if source else [1]
        return int(found[0])

    def join(self, name: str) -> Any:
        """Return how tokens come together at a step."""
        return self.steps[name].spec.get("join", "each")

    def put(self, edge: str, count: int = 1) -> None:
        """Put tokens on an edge."""
        self.tokens[edge] = self.tokens.get(edge, 0) + count

    def take(self, edge: str, count: int = 1) -> None:
        """Take tokens off an edge."""
        self.tokens[edge] -= count
        if not self.tokens[edge]:
            del self.tokens[edge]

    def live(self) -> list[Frame]:
        """List the runs of the net's steps, oldest first."""
        return [found for found in self.machine.kids(self.frame) if found.step is not None and found.role is None]

    def run(self, name: str) -> None:
        """Begin one more run of a step."""
        number = self.more["act"].get(name, 0) + 1
        if number > MOST_RUNS:
            raise business_error("loop_limit", f"`{name}` ran {MOST_RUNS} times in this net")
        self.more["act"][name] = number
        pos = f"#{number}" if number > 1 or self.steps[name].lists else None
        open_step(self.machine, self.steps[name], self.frame, key=name, pos=pos)


def edges(step: Step) -> list[dict[str, Any]]:
    """List what comes after a step of a net."""
    return list(step.spec.get("next", ()))


def _net(machine: Machine, frame: Frame, step: Step) -> None:
    """Put the first token before the step where the net begins."""
    steps = machine.definition.lists[step.lists["steps"]].steps
    if not steps:
        machine.finish(frame, COMPLETED)
        return
    start = step.body.get("start") or steps[0].id
    frame.more = {"start": start, "tok": {}, "rnd": {}, "act": {}}
    net = Net(machine, frame)
    net.put(f"{ENTRY}{start}")
    _arrive(net, f"{ENTRY}{start}")


def _told(machine: Machine, frame: Frame, _step: Step, message: Ended) -> None:
    """Put tokens on the edges out of a step that ended; a failed one fails the net."""
    if message.outcome == FAILED:
        machine.finish(frame, FAILED, error=message.error)
        return
    if message.outcome == CANCELLED:
        return
    net = Net(machine, frame)
    chosen = list(_chosen(net, net.steps[str(message.key)]))
    for edge, count in chosen:
        net.put(edge, count)
    for edge, count in chosen:
        for _ in range(count):
            if frame.n in machine.frames:
                _arrive(net, edge)


def _chosen(net: Net, step: Step) -> Iterator[tuple[str, int]]:
    """Return which edges get how many tokens."""
    out = edges(step)
    split = step.spec.get("split") or ("one" if any("when" in edge for edge in out) else "all")
    names = net.machine.names(net.frame)
    for edge in out:
        if split == "all" or "when" not in edge or edge["when"].holds(names):
            yield f"{step.id}>{edge['to']}", edge.get("make", 1)
            if split == "one":
                return


def _arrive(net: Net, edge: str) -> None:
    """Check a step's join when a token has come."""
    if not net.tokens.get(edge):
        return
    name = edge.split(">")[1]
    join = net.join(name)
    if join == "each":
        net.take(edge)
        net.run(name)
    elif join == "all":
        _and_join(net, name)
    elif join != "or":
        _round(net, name, edge, 1 if join == "any" else int(join))


def _and_join(net: Net, name: str) -> None:
    """Run once every entry has what the join takes; what is left over stays."""
    entries = net.entries(name)
    if all(net.tokens.get(edge, 0) >= net.take_of(edge) for edge in entries):
        for edge in entries:
            net.take(edge, net.take_of(edge))
        net.run(name)


def _round(net: Net, name: str, edge: str, wanted: int) -> None:
    """Count an entry once per round; at the n-th the step runs, and when all came the round begins anew."""
    came = net.rounds.setdefault(name, [])
    rest = net.steps[name].spec.get("rest", "let_run")
    if edge in came:
        if rest != "block":
            net.take(edge)
        return
    net.take(edge)
    came.append(edge)
    runs = len(came) == min(wanted, len(net.entries(name)))
    if runs and rest == "cancel":
        _cancel_rest(net, name, came)
    if runs:
        net.rounds[name] = came
        net.run(name)
    if (net.rounds.get(name) is not None and len(came) == len(net.entries(name))) or (runs and rest == "cancel"):
        _new_round(net, name)


def _new_round(net: Net, name: str) -> None:
    """Begin a round anew, with the tokens that were kept for it."""
    net.rounds.pop(name, None)
    for edge in net.entries(name):
        if net.tokens.get(edge) and net.frame.n in net.machine.frames:
            _arrive(net, edge)


def _cancel_rest(net: Net, name: str, came: list[str]) -> None:
    """Withdraw what could still bring a token to an entry that is empty."""
    empty = [edge for edge in net.entries(name) if edge not in came]
    for found in reversed(net.live()):
        if reaches(net, net.exits(str(found.key)), empty, name):
            net.machine.withdraw(found)
    for edge in list(net.tokens):
        if edge in empty or reaches(net, net.exits(edge.split(">")[1]), empty, name):
            del net.tokens[edge]


def settle_net(machine: Machine, frame: Frame) -> bool:
    """When nothing else is ready: let a free OR-join run, or end the net; return whether something moved."""
    net = Net(machine, frame)
    name = _free_join(net)
    if name is not None:
        for edge in [edge for edge in net.entries(name) if net.tokens.get(edge)]:
            net.take(edge)
        machine.attempt(frame, lambda: net.run(name))
        return True
    if net.live() or lingering(machine, frame) or frame.held is not None:
        return False
    machine.attempt(frame, lambda: _end(net))
    return True


def _free_join(net: Net) -> str | None:
    """Find the first OR-join that no further token can reach; if all wait only for each other, the first of them."""
    waiting = [
        name for name in net.steps if net.join(name) == "or" and any(net.tokens.get(edge) for edge in net.entries(name))
    ]
    for name in waiting:
        if not _awaits(net, name, {name}):
            return name
    frozen = set(waiting)
    while frozen:
        free = {name for name in frozen if not _awaits(net, name, frozen)}
        if free == frozen:
            return next(name for name in waiting if name in frozen)
        frozen = free
    return None


def _awaits(net: Net, name: str, frozen: set[str]) -> bool:
    empty = [edge for edge in net.entries(name) if not net.tokens.get(edge)]
    return bool(set(empty) & can_still_come(net, frozen))


def _end(net: Net) -> None:
    """End a net in which nothing lives; tokens left over are an error unless the author drops them."""
    unfinished = [
        edge
        for name, came in net.rounds.items()
        for edge in came
        if len(came) < min(1 if net.join(name) == "any" else int(net.join(name)), len(net.entries(name)))
    ]
    left = sorted([*net.tokens, *unfinished])
    if left and net.step.body["leftover"] == "incident":
        raise StepError(ErrorClass.CONSISTENCY, "leftover", f"tokens are left on {', '.join(left)}")
    net.machine.finish(net.frame, COMPLETED)


def remove_tokens(machine: Machine, frame: Frame, names: set[str]) -> None:
    """Remove the tokens that wait before steps."""
    net = Net(machine, frame)
    for edge in [edge for edge in net.tokens if edge.split(">")[1] in names]:
        del net.tokens[edge]
    for name in names & set(net.rounds):
        del net.rounds[name]


KINDS.update({"net": Kind(_net, told=_told, has_result=False)})
