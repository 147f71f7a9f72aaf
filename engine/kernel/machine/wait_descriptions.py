"""Describe a stored instance for people: what it waits for, and which children. Derived when stored, never read back."""

from engine.kernel.machine.frame_tree import Tree
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame


def shown_wait(tree: Tree, leaf: Frame) -> dict[str, Json]:
    """Return where a wait is and what comes next."""
    step = tree.step_of(tree.owner(leaf))
    home = tree.definition.lists.get(step.home)
    return {
        "token": leaf.n,
        "kind": leaf.wait,
        "side": leaf.side,
        "dueAt": leaf.due,
        "entryPointKind": leaf.wait,
        "taskName": step.id,
        "branchPath": step.path,
        "nextStepIndex": home.place[step.id] + 1 if home is not None else 0,
        "iteration": tree.iteration(leaf),
    }


def shown_child(tree: Tree, leaf: Frame, reference: str | None) -> dict[str, Json]:
    """Return which instance a wait is for, and where its result goes; waits of earlier releases do not know."""
    known = leaf.more or {}
    return {
        "child": known.get("child"),
        "version": known.get("version"),
        "resultKey": tree.step_of(tree.owner(leaf)).id,
        "parentReference": reference,
    }
