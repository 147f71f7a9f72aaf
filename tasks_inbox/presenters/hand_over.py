"""What the dialog offers by which a task is handed over: to whom, and whom one can ask."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.kernel.timing.periods import parse_period
from engine.models import Task
from engine.presentation.narrative.relative_times import span_words
from engine.services.tasks.colleagues import MOST_SUGGESTED, leads_of, open_tasks_of, people_of_case, people_to_hand_to
from tasks_inbox.presenters.task_actions import Acts
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import User

ASSIGN, DELEGATE, ASK = "assign", "delegate", "ask"


@dataclass(frozen=True, slots=True)
class Receiver:
    """A person who may do the task, and how many open tasks they have."""

    person: User
    load: int


@dataclass(frozen=True, slots=True)
class HandOver:
    """The dialog as it is drawn."""

    choices: tuple[str, ...]
    chosen: str
    people: Sequence[Receiver]
    leads: Sequence[User] = ()
    """Those who could add a person, where nobody else may do the task."""
    asked: User | None = None
    """The person who is filled in as the one to ask."""
    others: Sequence[User] = ()
    """Others whom one may want to ask."""
    returns: bool = False
    """Whether the task can go back to the queue."""
    pauses: bool = False
    """Whether a question stops the task's clock."""
    at_most: str = ""
    """For how long at most, in words."""
    opened: bool = False
    typed: Mapping[str, str] = field(default_factory=dict)
    wrong: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By field: code and message."""


def hand_over_of(actor: Actor, task: Task, acts: Acts) -> HandOver | None:
    """Return what to offer, or None where the task is not the actor's to move."""
    if not acts.gives:
        return None
    people = people_to_hand_to(actor, task)
    loads = open_tasks_of(people)
    choices: tuple[str, ...] = (ASSIGN, DELEGATE, ASK) if acts.delegate else (ASSIGN,)
    if task.delegated_by_id is not None:
        choices = tuple(choice for choice in choices if choice != DELEGATE)
    known = _known(actor, task, people) if ASK in choices else []
    rule = task.rules.ask
    return HandOver(
        choices=choices,
        chosen=ASSIGN if people or ASK not in choices else ASK,
        people=[Receiver(person, loads.get(person.pk, 0)) for person in people],
        leads=[] if people else leads_of(actor, task),
        asked=known[0] if known and task.waiting_since is None else None,
        others=[one for one in known if task.waiting_since is not None or one is not known[0]][:MOST_SUGGESTED],
        returns=acts.release,
        pauses=rule is not None,
        at_most=span_words(parse_period(rule.at_most).length) if rule and rule.at_most else "",
    )


def _known(actor: Actor, task: Task, people: Sequence[User]) -> list[User]:
    """List people to ask: who started the case, who answered a task of it, who may do this one; not who was asked already."""
    found = {person.pk: person for person in (*people_of_case(actor, task), *people)}
    return [person for person in found.values() if person.username != task.waiting_for_name]


def opened(shown: HandOver | None, chosen: str) -> HandOver | None:
    """Open the dialog with one of its choices."""
    return replace(shown, opened=True, chosen=chosen) if shown and chosen in shown.choices else shown
