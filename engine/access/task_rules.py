"""Say rule by rule why somebody may or may not act on a task: what decides is what is explained.

`access` says the same rules as filters, for lists. A rule is decided at once and put into words only when somebody reads it, in
the language of who asks; programs go by its code.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.dateformat import format as date_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from engine.access.four_eyes import (
    INSIDE,
    checked_from_outside,
    counts_people,
    is_one_of,
    participation_of,
    took_part_inside,
)
from engine.errors import Conflict, Refused, WorkflowError
from engine.kernel.transitions import TaskStatus
from engine.models import Task, TaskCandidate
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_SEE_TENANT


@dataclass(frozen=True, slots=True)
class Sentence:
    """What a rule says to the reader, and how it says the same of somebody else, called `%(name)s` there."""

    to_you: Any
    of_another: Any = None

    def said(self, words: Mapping[str, Any], name: str = "") -> str:
        """Put it into words, about the reader or about who is named."""
        chosen = self.of_another if name and self.of_another is not None else self.to_you
        return str(chosen) % {**words, "name": name}


OPEN = Sentence(_("It waits for an answer."))
SUSPENDED = Sentence(_("This task is suspended."))
OVER: Mapping[TaskStatus, Sentence] = {
    TaskStatus.COMPLETED: Sentence(_("This task was completed.")),
    TaskStatus.SKIPPED: Sentence(_("This task was skipped.")),
    TaskStatus.CANCELLED: Sentence(_("This task was withdrawn.")),
    TaskStatus.EXPIRED: Sentence(_("This task has expired.")),
}
LEVEL = Sentence(
    _("It asks for level %(needed)s; you have level %(level)s."),
    _("It asks for level %(needed)s; %(name)s has level %(level)s."),
)
FOUR_EYES = Sentence(
    _("Four eyes: you took part in this before, so someone else must do it."),
    _("Four eyes: %(name)s took part in this before, so someone else must do it."),
)
FOUR_EYES_STARTED = Sentence(
    _("Four eyes: you started this on %(when)s, so someone else must do it."),
    _("Four eyes: %(name)s started this on %(when)s, so someone else must do it."),
)
FOUR_EYES_DID = Sentence(
    _("Four eyes: you took part in “%(step)s” on %(when)s, so someone else must do this."),
    _("Four eyes: %(name)s took part in “%(step)s” on %(when)s, so someone else must do this."),
)
FOUR_EYES_KEPT = Sentence(
    _("Four eyes: not %(people)s. You are someone else."), _("Four eyes: not %(people)s. %(name)s is someone else.")
)
FOUR_EYES_SERVICE = Sentence(
    _("It asks for different people, and a service account counts as none."),
    _("It asks for different people, and %(name)s is a service account."),
)
FAMILIAR = Sentence(_("It stays with who began this: %(people)s."))
FAMILIAR_KEPT = Sentence(
    _("It stays with who began this: %(people)s. That is you."),
    _("It stays with who began this: %(people)s. That is %(name)s."),
)
ANSWERED = Sentence(
    _("You have answered; it waits for others now."), _("%(name)s has answered; it waits for others now.")
)
OFFERED = Sentence(
    _("It is offered to %(people)s, and that includes you."),
    _("It is offered to %(people)s, and that includes %(name)s."),
)
NOT_OFFERED = Sentence(
    _("It is offered to %(people)s; you are not among them."),
    _("It is offered to %(people)s; %(name)s is not among them."),
)
HELD = Sentence(_("One person may hold %(most)s of these at a time."))
CLAIMED_BY_SELF = Sentence(_("You claimed it, so it is yours."), _("%(name)s claimed it."))
GIVEN_TO_SELF = Sentence(_("It is assigned to you."), _("It is assigned to %(name)s."))
CLAIMED_BY_OTHER = Sentence(_("%(winner)s claimed this task."))
WHO_CAN_MOVE_IT = Sentence(
    _("%(winner)s can release it, or somebody who may assign tasks can give it to another."),
)
GIVEN_TO_OTHER = Sentence(_("It is assigned to %(winner)s."))
SEEN_AS_ANSWERED = Sentence(_("You answered it, so it stays in sight."), _("%(name)s answered it."))
SEEN_BY_LEVEL = Sentence(
    _("From level %(floor)s on one sees every task of the organisation; you have level %(level)s."),
    _("From level %(floor)s on one sees every task of the organisation; %(name)s has level %(level)s."),
)


def principals(actor: Actor) -> list[UUID]:
    """Return everything by which a task can be offered to the actor: the person, the roles, the tenant."""
    own = [actor.person_id] if actor.person_id else []
    return [*own, *actor.roles, actor.tenant_id]


@dataclass(frozen=True, slots=True)
class Reason:
    """One rule about a task: whether it lets the actor act, the sentence that says so, and what it refuses with."""

    code: str
    sentence: Sentence
    words: Mapping[str, Any] = field(default_factory=dict)
    refusal: type[WorkflowError] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    advice: Sentence | None = None
    name: str = ""
    """Of whom it speaks; empty for the reader."""

    @property
    def ok(self) -> bool:
        """Tell whether the rule lets the actor act."""
        return self.refusal is None

    @property
    def text(self) -> str:
        """Say the rule, and what could be done about it."""
        said = self._said(self.sentence)
        return f"{said} {self._said(self.advice)}" if self.advice else said

    @property
    def error(self) -> WorkflowError | None:
        """Give what an act is refused with, where the rule refuses."""
        return self.refusal(self._said(self.sentence), code=self.code, **self.facts) if self.refusal else None

    def about(self, name: str) -> "Reason":
        """Say the same of somebody else."""
        return replace(self, name=name)

    def _said(self, sentence: Sentence) -> str:
        words = {word: either(value) if isinstance(value, list) else value for word, value in self.words.items()}
        return sentence.said(words, self.name)


def explain_task(actor: Actor, task: Task) -> list[Reason]:
    """Say rule by rule why the actor sees this task and whether they may act on it.

    Whose task it is, or to whom it is offered, explains both; who is not among them, or comes too late, reads why they see it.
    """
    reasons = list(_reasons(actor, task))
    if task.is_over:
        return [*_sight(actor, task), reasons[0]]
    meant = any(reason.ok and reason.code in ("yours", "offered") for reason in reasons)
    return reasons if meant else [*_sight(actor, task), *reasons]


def refuse_act(actor: Actor, task: Task, *, offered: bool | None = None) -> WorkflowError | None:
    """Return the first rule that forbids the actor to claim or complete this task, or None.

    Who has read whether the task is offered to the actor says so; else it is looked up.
    """
    return _first_error(_reasons(actor, task, offered))


def refuse_given(person: Actor, task: Task) -> WorkflowError | None:
    """Return the rule that keeps a task from being given to somebody, whoever holds it now, or None."""
    rules = (*_fitness(person, task), _candidate_reason(person, task))
    return _first_error(reason.about(person.name.capitalize()) for reason in rules)


def refuse_person(person: Actor, task: Task) -> WorkflowError | None:
    """Return the rule about the person that forbids to give them a task, whoever it is offered to, or None."""
    return _first_error(_fitness(person, task))


def refuse_over(task: Task) -> WorkflowError | None:
    """Return what an act on a task that is over is refused with, or None while it is open."""
    reason = _status_reason(task)
    return reason.error if reason.code == "closed" else None


def _first_error(reasons: Iterable[Reason]) -> WorkflowError | None:
    return next((reason.error for reason in reasons if not reason.ok), None)


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


def _sight(actor: Actor, task: Task) -> Iterator[Reason]:
    """Say why a task is seen by who does not have it before them to do, as `access.visible_tasks` decides it."""
    if task.completed_by_id == actor.person_id or actor.name in task.answered_by:
        yield Reason("seen", SEEN_AS_ANSWERED)
    elif actor.level >= TO_SEE_TENANT:
        yield Reason("seen", SEEN_BY_LEVEL, {"floor": int(TO_SEE_TENANT), "level": actor.level})


def _status_reason(task: Task) -> Reason:
    status = TaskStatus(task.status)
    if status in OVER:
        return Reason("closed", OVER[status], refusal=Conflict, facts={"status": task.status})
    if status is TaskStatus.SUSPENDED:
        return Reason("status", SUSPENDED, refusal=Conflict, facts={"status": task.status})
    return Reason("open", OPEN)


def _level_reason(actor: Actor, task: Task) -> Reason:
    words = {"needed": task.min_level, "level": actor.level}
    if actor.level >= task.min_level:
        return Reason("level", LEVEL, words)
    return Reason("level", LEVEL, words, Refused, {"needed": task.min_level})


def _four_eyes_reason(actor: Actor, task: Task) -> Iterator[Reason]:
    if actor.is_service and counts_people(task):
        yield Reason("four_eyes", FOUR_EYES_SERVICE, refusal=Refused)
    elif _is_barred(actor, task):
        yield _barred(actor, task)
    elif task.excluded:
        yield Reason("four_eyes", FOUR_EYES_KEPT, {"people": _called(task.excluded)})


def _is_barred(actor: Actor, task: Task) -> bool:
    if is_one_of(actor, task.excluded) or any(checked_from_outside(task, name) for name in actor.eyes):
        return True
    return any(took_part_inside(task.instance_id, task.extra.get(INSIDE, ()), name) for name in actor.eyes)


def _barred(actor: Actor, task: Task) -> Reason:
    """Say what somebody did, and when, that keeps them from a task."""
    found = (participation_of(task, name) for name in (actor.name, *sorted(actor.same_eyes)))
    done = next((act for act in found if act is not None), None)
    if done is None or done.at is None:
        return Reason("four_eyes", FOUR_EYES, refusal=Refused)
    words = {"step": done.title, "when": date_format(timezone.localtime(done.at), "j M Y, H:i")}
    facts = {"step": done.step or "start", "at": done.at}
    return Reason("four_eyes", FOUR_EYES_DID if done.step else FOUR_EYES_STARTED, words, Refused, facts)


def _familiar_reason(actor: Actor, task: Task) -> Iterator[Reason]:
    words = {"people": _called(task.familiar)}
    if actor.name in task.familiar:
        yield Reason("same_person", FAMILIAR_KEPT, words)
    elif task.familiar:
        yield Reason("not_candidate", FAMILIAR, words, Refused, {"people": task.familiar})


def _answered_reason(actor: Actor, task: Task) -> Iterator[Reason]:
    if actor.name in task.answered_by:
        yield Reason("answered", ANSWERED, refusal=Conflict)


def _offer_reason(actor: Actor, task: Task, offered: bool | None) -> Reason:
    if task.assignee_id is not None:
        return _assignee_reason(actor, task)
    return _offer(task, offered if offered is not None else _is_offered(actor, task))


def _candidate_reason(actor: Actor, task: Task) -> Reason:
    """Say whether a task may be given to somebody: where the author named no roles or people, to everybody."""
    anybody = not (task.effective_roles or task.users)
    return _offer(task, anybody or _is_offered(actor, task))


def _offer(task: Task, is_offered: bool) -> Reason:
    words = {"people": [*_called(task.effective_roles, "_"), *_called(task.users)]}
    if is_offered:
        return Reason("offered", OFFERED, words)
    return Reason("not_candidate", NOT_OFFERED, words, Refused, {"roles": task.effective_roles})


def _is_offered(actor: Actor, task: Task) -> bool:
    return TaskCandidate.objects.filter(task_id=task.pk, principal__in=principals(actor)).exists()


def _held_reason(task: Task) -> Iterator[Reason]:
    """Say how many one person may hold; the claim itself counts them."""
    most = task.extra.get("wip_limit")
    if most is not None:
        yield Reason("wip_limit", HELD, {"most": most})


def _assignee_reason(actor: Actor, task: Task) -> Reason:
    claimed = task.status == TaskStatus.CLAIMED
    if task.assignee_id == actor.person_id:
        return Reason("yours", CLAIMED_BY_SELF if claimed else GIVEN_TO_SELF)
    winner = task.assignee
    assert winner
    words = {"winner": winner.display_name}
    if not claimed:
        return Reason("not_candidate", GIVEN_TO_OTHER, words, Refused, {"assignee": winner.username})
    facts = {"winner": winner.username, "winner_name": winner.display_name, "claimed_at": task.claimed_at}
    return Reason("claimed", CLAIMED_BY_OTHER, words, Conflict, facts, WHO_CAN_MOVE_IT)


def _called(names: list[str], gap: str = " ") -> list[str]:
    """Write names as people read them; `gap` is what parts their words."""
    return [name.replace(gap, " ").capitalize() for name in names]


def either(names: list[str]) -> str:
    """Write names as a choice; no names are everybody."""
    if len(names) < 2:
        return names[0] if names else gettext("everybody")
    return f"{', '.join(names[:-1])}{gettext(' or ')}{names[-1]}"
