"""Read a canonical definition as a flow: nodes to draw and edges between them, without any geometry.

A line of steps is drawn one after the other: what is still loose at the end of one (a node, with the word on the edge that will
leave it) is tied to the next. Containers that only order their steps leave no node behind; those that decide, split or repeat
leave one. What no step follows is tied to the end.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from engine.diagram.labels import condition_words, handler_words, trigger_words
from engine.diagram.step_names import label_of, look_of, name_of, step_kind

Step = Mapping[str, Any]

START, END = "start", "end"


@dataclass(frozen=True, slots=True)
class Node:
    """Something to draw: its shape follows from the look, `step` is the path of the step that it stands for."""

    id: str
    look: str
    icon: str
    title: str
    step: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """A way from one node to another. A quiet one is dashed: it skips something, or runs in parallel to the main line."""

    source: str
    target: str
    label: str = ""
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Loose:
    """The end of an edge that is not tied to a target yet."""

    source: str
    label: str = ""
    quiet: bool = False


@dataclass(slots=True)
class _Scope:
    """What `exit` may leave, and the ends that do."""

    id: str
    left: list[Loose] = field(default_factory=list)


@dataclass(slots=True)
class _Line:
    """A list while it is drawn: where each of its steps is entered, and the ends that jump to one."""

    entries: dict[str, str | None]
    jumps: dict[str, list[Loose]] = field(default_factory=dict)

    def entry_at(self, name: str) -> str | None:
        """Find the node of a step; one that draws none leads to the next that does."""
        following = list(self.entries.values())[list(self.entries).index(name) :]
        return next((node for node in following if node is not None), None)


@dataclass(slots=True)
class Flow:
    """A whole definition, ready to be laid out."""

    title: str
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)


def flow_of(canonical: Step) -> Flow:
    """Read a definition as a flow."""
    drawing = _Drawing(Flow(str(canonical["title"])))
    drawing.add(Node(START, "start", "player-play", trigger_words(canonical)))
    with_end = drawing.line(canonical["steps"], [Loose(START)])
    for place, handler in enumerate(canonical.get("on", ())):
        with_end += drawing.beside_the_case(f"on.{place}", handler)
    if with_end:
        drawing.add(Node(END, "end", "check", _("Completed")))
        drawing.tie(with_end, END)
    return drawing.flow


class _Drawing:
    """A flow while it grows."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.scopes: list[_Scope] = []
        self.lines: list[_Line] = []

    def add(self, node: Node) -> str:
        self.flow.nodes[node.id] = node
        return node.id

    def tie(self, loose: Iterable[Loose], target: str) -> None:
        known = {(edge.source, edge.target, edge.label) for edge in self.flow.edges}
        for end in loose:
            if (end.source, target, end.label) not in known:
                known.add((end.source, target, end.label))
                self.flow.edges.append(Edge(end.source, target, end.label, end.quiet))

    def line(self, steps: Iterable[Step], loose: list[Loose]) -> list[Loose]:
        """Draw steps one after the other; what jumps forward is tied on the way, what jumps back at the end."""
        steps = list(steps)
        drawn = _Line({step["id"]: None for step in steps})
        self.lines.append(drawn)
        for step in steps:
            before = len(self.flow.nodes)
            loose = self.step(step, loose + drawn.jumps.pop(step["id"], []))
            drawn.entries[step["id"]] = next(iter(list(self.flow.nodes)[before:]), None)
        self.lines.pop()
        for name, jumps in drawn.jumps.items():
            if (target := drawn.entry_at(name)) is not None:
                self.tie(jumps, target)
            else:
                loose = loose + jumps
        return loose

    def jump(self, name: str, loose: Iterable[Loose]) -> None:
        """Carry ends to the step that they jump to, in the nearest list that holds it."""
        for line in reversed(self.lines):
            if name in line.entries:
                line.jumps.setdefault(name, []).extend(loose)
                return

    def step(self, step: Step, loose: list[Loose]) -> list[Loose]:
        """Draw a step, what may pass it by, and what may happen while it is open."""
        kind = step_kind(step)
        ends = self._jumps(step, DRAWN.get(kind, _one)(self, step, loose))
        if "when" in step:
            ends = ends + [Loose(end.source, end.label or _("otherwise"), quiet=True) for end in loose]
        ends = ends + self._asides(step)
        return self.line(step["finally"], ends) if "finally" in step else ends

    def _jumps(self, step: Step, ends: list[Loose]) -> list[Loose]:
        """Draw where a step of a list jumps to; return the ends that continue at the next step."""
        if not self.lines or step["id"] not in self.lines[-1].entries:
            return ends  # a net draws its own edges
        for way in step.get("next", ()):
            word = condition_words(way.get("when"))
            self.jump(way["to"], [Loose(end.source, word or end.label, end.quiet) for end in ends])
            if "when" not in way:
                return []
        return ends

    def node(self, step: Step, loose: Iterable[Loose]) -> str:
        """Draw a step's own node and tie to it what is loose."""
        look = look_of(step)
        name = self.add(Node(step["path"], look.name, look.icon, name_of(step), step["path"]))
        self.tie(loose, name)
        return name

    def joint(self, step: Step, loose: Iterable[Loose]) -> list[Loose]:
        """Draw where branches meet again; nothing, when none of them comes back."""
        ends = list(loose)
        if not ends:
            return []
        name = self.add(Node(step["path"] + "/", "joint", "", "", step["path"]))
        self.tie(ends, name)
        return [Loose(name)]

    def scoped(self, name: str, draw: Callable[[], list[Loose]]) -> list[Loose]:
        """Draw something that `exit` may leave."""
        scope = _Scope(name)
        self.scopes.append(scope)
        ends = draw()
        self.scopes.pop()
        return ends + scope.left

    def leave(self, name: str | None, loose: Loose) -> None:
        """Carry an end to where the flow continues after the scope that it leaves."""
        for scope in reversed(self.scopes):
            if name in (None, scope.id):
                scope.left.append(loose)
                return

    def beside_the_case(self, name: str, handler: Step) -> list[Loose]:
        """Draw a handler of the whole case: a beginning of its own."""
        begin = self.add(Node(name, "listen", "broadcast", handler_words(handler)))
        ends = self.line(handler["steps"], [Loose(begin)])
        return ends if handler.get("interrupting") or "error" in handler else []

    def _asides(self, step: Step) -> list[Loose]:
        """Draw timeout, error handlers, other handlers and reminders of a step; return the ends that continue after it."""
        anchor = step["path"]
        ends: list[Loose] = []
        if "on_timeout" in step:
            ends += self.line(step["on_timeout"], [Loose(anchor, _("time runs out"))])
        for handler in step.get("on_error", ()):
            ends += self.line(handler["steps"], [Loose(anchor, _("fails"))])
        for handler in step.get("on", ()):
            interrupts = bool(handler.get("interrupting") or "error" in handler)
            drawn = self.line(handler["steps"], [Loose(anchor, handler_words(handler), quiet=not interrupts)])
            ends += drawn if interrupts else []
        for reminder in step.get("reminders", ()):
            self.line(reminder["steps"], [Loose(anchor, handler_words(reminder), quiet=True)])
        return ends


def _one(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    return [Loose(drawing.node(step, loose))]


def _last(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    drawing.node(step, loose)
    return []


def _complete(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    name = drawing.node(step, loose)
    inside = step["complete"].get("step") if isinstance(step["complete"], Mapping) else None
    if inside:
        drawing.leave(inside, Loose(name))
    return []


def _cancel(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    name = drawing.node(step, loose)
    return [] if step["cancel"].get("case") else [Loose(name)]


def _exit(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    name = drawing.node(step, loose)
    drawing.leave(step["exit"] if isinstance(step["exit"], str) else None, Loose(name))
    return []


def _if(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    name = drawing.node(step, loose)
    yes = drawing.line(step["then"], [Loose(name, _("yes"))])
    return yes + drawing.line(step.get("else", ()), [Loose(name, _("no"))])


def _switch(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    name = drawing.node(step, loose)
    ends: list[Loose] = []
    for case in step["switch"]["cases"]:
        ends += drawing.line(case["steps"], [Loose(name, condition_words(case["when"]))])
    return ends + drawing.line(step["switch"].get("default", ()), [Loose(name, _("otherwise"))])


def _selector(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    entries = [Loose(drawing.node(step, loose))]
    ends: list[Loose] = []
    for child in step["selector"]["steps"]:
        ends += drawing.step(child, entries)
        entries = [Loose(child["path"], _("fails"))]
    return ends


def _branches(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    """Draw branches that are open together, each under its name."""
    name = drawing.node(step, loose)
    ends: list[Loose] = []
    for branch in step[step_kind(step)]["branches"]:
        entry = [Loose(name, label_of(branch["name"]))]
        ends += drawing.scoped(branch["name"], lambda branch=branch, entry=entry: drawing.line(branch["steps"], entry))  # type: ignore[misc]
    return ends


def _parallel(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    ends = _branches(drawing, step, loose)
    return [Loose(step["path"])] if step["parallel"].get("join") == "none" else drawing.joint(step, ends)


def _repeat(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    name = drawing.node(step, loose)

    def rounds() -> list[Loose]:
        ends = drawing.line(step["repeat"]["steps"], [Loose(name, _("each round"))])
        drawing.tie([Loose(end.source, end.label or _("again"), end.quiet) for end in ends], name)
        return [Loose(name, _("then"))]

    return drawing.scoped(step["id"], rounds)


def _for_each(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    name = drawing.node(step, loose)
    body = step["for_each"]["steps"]
    return drawing.joint(step, drawing.scoped(step["id"], lambda: drawing.line(body, [Loose(name, _("each"))])))


def _group(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    """Draw a group's own node only where something hangs on it."""
    hangs = any(key in step for key in ("on_timeout", "on_error", "on", "reminders"))
    entry = [Loose(drawing.node(step, loose))] if hangs else loose
    return drawing.scoped(step["id"], lambda: drawing.line(step["group"]["steps"], entry))


def _put_in(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    """Draw an embedded workflow or a project's own step kind as one node, followed by the steps that it adds."""
    name, inside = drawing.node(step, loose), step[step_kind(step)]
    steps = inside.get("steps") if isinstance(inside, Mapping) else None
    return drawing.scoped(step["id"], lambda: drawing.line(steps or (), [Loose(name)]))


def _graph(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    entry = [Loose(drawing.node(step, loose))]
    ends: dict[str, list[Loose]] = {}
    needed: set[str] = set()
    waiting = list(step["graph"]["steps"])
    while waiting:  # needs form no circle: each walk finds one whose needs are drawn
        child = next(
            (one for one in waiting if all(_need(need)[0] in ends for need in one.get("needs", ()))), waiting[0]
        )
        waiting.remove(child)
        needs = [_need(need) for need in child.get("needs", ())]
        needed |= {name for name, _word in needs}
        ways = [Loose(end.source, word or end.label, end.quiet) for name, word in needs for end in ends.get(name, ())]
        ends[child["id"]] = drawing.step(child, ways if needs else entry)
    return [end for name, drawn in ends.items() if name not in needed for end in drawn]


def _need(need: Any) -> tuple[str, str]:
    if isinstance(need, str):
        return need, ""
    words = {"failure": _("fails"), "complete": _("ends")}
    return need["step"], words.get(need.get("on", "success"), "")


def _net(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    steps = step["net"]["steps"]
    paths = {child["id"]: child["path"] for child in steps}
    first = step["net"].get("start") or steps[0]["id"]
    drawn = {child["id"]: drawing.step(child, loose if child["id"] == first else []) for child in steps}
    ends: list[Loose] = []
    for child in steps:
        following = child.get("next", ())
        for way in following:
            target, word = (way, "") if isinstance(way, str) else (way["to"], condition_words(way.get("when")))
            drawing.tie([Loose(end.source, word or end.label) for end in drawn[child["id"]]], paths[target])
        ends += [] if following else drawn[child["id"]]
    return ends


def _any_order(drawing: _Drawing, step: Step, loose: list[Loose]) -> list[Loose]:
    entry = [Loose(drawing.node(step, loose))]
    return drawing.joint(step, [end for child in step["any_order"]["steps"] for end in drawing.step(child, entry)])


DRAWN: Mapping[str, Callable[[_Drawing, Step, list[Loose]], list[Loose]]] = {
    "if": _if,
    "switch": _switch,
    "selector": _selector,
    "first": _branches,
    "parallel": _parallel,
    "repeat": _repeat,
    "for_each": _for_each,
    "group": _group,
    "workflow": _put_in,
    "ext": _put_in,
    "graph": _graph,
    "net": _net,
    "any_order": _any_order,
    "complete": _complete,
    "cancel": _cancel,
    "exit": _exit,
    "fail": _last,
}
"""How the kinds are drawn that are more than one node in the line."""
