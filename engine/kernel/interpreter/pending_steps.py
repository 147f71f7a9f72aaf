"""Return which steps of a stored instance are still to come: those of its live graphs that have not begun."""

from collections.abc import Iterator
from typing import NamedTuple

from engine.kernel.machine.frame_tree import Tree
from engine.kernel.program import Definition
from engine.kernel.snapshot import Frame, Snapshot
from engine.kernel.steps.graphs import unbegun


class Pending(NamedTuple):
    """A step that waits for what it needs, and the run of the graph that it is part of."""

    step: str
    kind: str
    path: str
    iteration: str
    parent: int


def pending_steps(definition: Definition, snapshot: Snapshot) -> Iterator[Pending]:
    """Return the pending steps, graph after graph, each in the author's order."""
    tree = Tree()
    tree.definition, tree.frames, tree.children = definition, {}, {0: []}
    for stored in snapshot.frames:
        tree.adopt(Frame.read(stored))
    for frame in list(tree.frames.values()):
        open_graph = frame.step and frame.phase is None and tree.step_of(frame).kind == "graph"
        if open_graph and "begun" in (frame.more or {}):
            for step in unbegun(tree, frame):
                yield Pending(step.id, step.kind, step.path, tree.iteration(frame), frame.n)
