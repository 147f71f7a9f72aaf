"""Say rule by rule why somebody may or may not act on a task: what decides is what is explained.

`access` says the same rules as filters, for lists.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from uuid import UUID

from engine.errors import Conflict, Refused, WorkflowError
from engine.kernel.transitions import TaskStatus
from engine.models import Task, TaskCandidate
from workflowplatform.accounts.actor import Actor

STATUS_WORDS = {
    TaskStatus.COMPLETED: "was completed",
    TaskStatus.SKIPPED: "was skipped",
    TaskStatus.CANCELLED: "was withdrawn",
    TaskStatus.EXPIRED: "has expired",
}


def principals(actor: Actor) -> list[UUID]:
    """Return everything by which a task can be offered to the actor: the person, the roles, the tenant."""
    own = [actor.person_id] if actor.person_id else []
    return [*own, *actor.roles, actor.tenant_id]


@dataclass(frozen=True, slots=True)
class Reason:
    """One rule about a task, whether it lets the actor act, and the sentence that says so."""

    ok: bool
    code: str
    text: str
    error: WorkflowError | None = None

    def about(self, name: str) -> "Reason":
        """Say the same of somebody else."""
        text = self.text
        for own, other in PHRASES:
            text = text.replace(own, other.format(name))
        if self.error is None:
            return replace(self, text=text)
        return replace(self, text=text, error=type(self.error)(text, code=self.error.code, **self.error.facts))


PHRASES = (
    ("You claimed it, so it is yours", "{} claimed it"),
    ("that includes you", "that includes {}"),
    ("assigned to you", "assigned to {}"),
    ("That is you", "That is {}"),
    ("You have", "{} has"),
    ("you have", "{} has"),
    ("you took", "{} took"),
    ("You are", "{} is"),
    ("you are", "{} is"),
)
"""How a sentence to the reader becomes one about another person."""


def explain_task(actor: Actor, task: Task) -> list[Reason]:
    """Say rule by rule why the actor sees this task and whether they may act on it."""
    return list(_reasons(actor, task))


def refuse_act(actor: Actor, task: Task, *, offered: bool | None = None) -> WorkflowError | None:
    """Return the first rule that forbids the actor to claim or complete this task, or None.

    Who has read whether the task is offered to the actor says so; else it is looked up.
    """
    return next((reason.error for reason in _reasons(actor, task, offered) if reason.error), None)


def refuse_given(person: Actor, task: Task) -> WorkflowError | None:
    """Return the rule that keeps a task from being given to somebody, whoever holds it now, or None."""
    rules = (*_fitness(person, task), _candidate_reason(person, task))
    return next((reason.about(person.name.capitalize()).error for reason in rules if reason.error), None)


def refuse_person(person: Actor, task: Task) -> WorkflowError | None:
    """Return the rule about the person that forbids to give them a task, whoever it is offered to, or None."""
    return next((reason.error for reason in _fitness(person, task) if reason.error), None)


def _reasons(actor: Actor, task: Task, offered: bool | None = None) -> Iterator[Reason]:
    yield _status_reason(task)
    yield from _fitness(actor, task)
    yield _offer_reason(actor, task, offered)
    yield from _held_reason(task)


def _fitness(actor: Actor, task: Task) -> Iterator[Reason]:
    """Give the rules about the person, whatever the offer."""
    yield _level_reason(actor, task)
    yield from _four_eyes_reason(actor, task)
    yield from _familiar_reason(actor, task)
    yield from _answered_reason(actor, task)


def _status_reason(task: Task) -> Reason:
    status = TaskStatus(task.status)
    if status in STATUS_WORDS:
        text = f"This task {STATUS_WORDS[status]}."
        return Reason(False, "closed", text, Conflict(text, code="closed", status=task.status))
    if status is TaskStatus.SUSPENDED:
        text = "This task is suspended."
        return Reason(False, "status", text, Conflict(text, code="status", status=task.status))
    return Reason(True, "open", "It waits for an answer.")


def _level_reason(actor: Actor, task: Task) -> Reason:
    text = f"It asks for level {task.min_level}; you have level {actor.level}."
    if actor.level >= task.min_level:
        return Reason(True, "level", text)
    return Reason(False, "level", text, Refused(text, code="level", needed=task.min_level))


def _four_eyes_reason(actor: Actor, task: Task) -> Iterator[Reason]:
    if not task.excluded:
        return
    others = either([name.capitalize() for name in task.excluded])
    if actor.name in task.excluded:
        text = "Four eyes: you took part in this before, so someone else must do it."
        yield Reason(False, "four_eyes", text, Refused(text, code="four_eyes"))
    else:
        yield Reason(True, "four_eyes", f"Four eyes: not {others}. You are not.")


def _familiar_reason(actor: Actor, task: Task) -> Iterator[Reason]:
    if not task.familiar:
        return
    text = f"It stays with who began this: {either([name.capitalize() for name in task.familiar])}."
    if actor.name in task.familiar:
        yield Reason(True, "same_person", f"{text} That is you.")
    else:
        yield Reason(False, "not_candidate", text, Refused(text, code="not_candidate", people=task.familiar))


def _answered_reason(actor: Actor, task: Task) -> Iterator[Reason]:
    if actor.name in task.answered_by:
        text = "You have answered; it waits for others now."
        yield Reason(False, "answered", text, Conflict(text, code="answered"))


def _offer_reason(actor: Actor, task: Task, offered: bool | None) -> Reason:
    if task.assignee_id is not None:
        return _assignee_reason(actor, task)
    if offered if offered is not None else _is_offered(actor, task):
        return Reason(True, "offered", f"It is offered to {_offered_to(task)}, and that includes you.")
    return _not_offered(task)


def _candidate_reason(actor: Actor, task: Task) -> Reason:
    """Say whether a task may be given to somebody: where the author named no roles or people, to everybody."""
    anybody = not (task.effective_roles or task.users)
    if anybody or _is_offered(actor, task):
        return Reason(True, "offered", f"It is offered to {_offered_to(task)}, and that includes you.")
    return _not_offered(task)


def _not_offered(task: Task) -> Reason:
    text = f"It is offered to {_offered_to(task)}; you are not among them."
    return Reason(False, "not_candidate", text, Refused(text, code="not_candidate", roles=task.effective_roles))


def _is_offered(actor: Actor, task: Task) -> bool:
    return TaskCandidate.objects.filter(task_id=task.pk, principal__in=principals(actor)).exists()


def _held_reason(task: Task) -> Iterator[Reason]:
    """Say how many one person may hold; the claim itself counts them."""
    most = task.extra.get("wip_limit")
    if most is not None:
        yield Reason(True, "wip_limit", f"One person may hold {most} of these at a time.")


def _assignee_reason(actor: Actor, task: Task) -> Reason:
    claimed = task.status == TaskStatus.CLAIMED
    if task.assignee_id == actor.person_id:
        return Reason(True, "yours", "You claimed it, so it is yours." if claimed else "It is assigned to you.")
    winner = task.assignee
    assert winner
    if claimed:
        text = f"{winner.display_name} claimed this task."
        error: WorkflowError = Conflict(
            text, code="claimed", winner=winner.username, winner_name=winner.display_name, claimed_at=task.claimed_at
        )
        more = f"{winner.display_name} can release it, or somebody who may assign tasks can give it to another."
        return Reason(False, "claimed", f"{text} {more}", error)
    text = f"It is assigned to {winner.display_name}."
    return Reason(False, "not_candidate", text, Refused(text, code="not_candidate", assignee=winner.username))


def _offered_to(task: Task) -> str:
    names = [role.replace("_", " ").capitalize() for role in task.effective_roles]
    names += [name.capitalize() for name in task.users]
    return either(names) if names else "everybody"


def either(names: list[str]) -> str:
    """Write names as a choice."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
