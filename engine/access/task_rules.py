"""Decide, rule by rule, whether an actor may act on a task, and explain it: the same code does both.

`engine.access.tasks` holds the same rules as filters, for lists. A rule is decided at once and becomes text only when it is
read, in the language of the reader; programs use its code.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from engine.access.deputies import is_offered, stood_in_for
from engine.access.four_eyes import (
    checked_from_outside,
    participation_of,
    took_part_inside,
)
from engine.access.levels import LEVEL_NAMES
from engine.access.teams import leads_task
from engine.errors import Conflict, Refused, WorkflowError
from engine.kernel.transitions import TaskStatus
from engine.models import Task
from workflowplatform.accounts.actor import Actor, StandIn
from workflowplatform.accounts.levels import TO_OPERATE, TO_SEE_TENANT
from workflowplatform.i18n.dates import date_format


@dataclass(frozen=True, slots=True)
class Sentence:
    """The text of a rule for the reader, and the same about another person, who is `%(name)s` there."""

    to_you: Any
    of_another: Any = None

    def said(self, words: Mapping[str, Any], name: str = "") -> str:
        """Return the text, about the reader or about the person named."""
        chosen = self.of_another if name and self.of_another is not None else self.to_you
        return str(chosen) % {**words, "name": name}


OPEN = Sentence(_("It is open."))
SUSPENDED = Sentence(_("This task is suspended."))
OVER: Mapping[TaskStatus, Sentence] = {
    TaskStatus.COMPLETED: Sentence(_("This task was completed.")),
    TaskStatus.SKIPPED: Sentence(_("This task was skipped.")),
    TaskStatus.CANCELLED: Sentence(_("This task was withdrawn.")),
    TaskStatus.EXPIRED: Sentence(_("This task has expired.")),
}
SENDING = Sentence(_("%(who)s answered it. The answer is sent at %(at)s."))
SENDING_OWN = Sentence(_("You answered it. Your answer is sent at %(at)s; until then you can take it back."))
LEVEL_EQUAL = Sentence(_("%(level)s can do this, and you are one."), _("%(level)s can do this, and %(name)s is one."))
LEVEL_HIGHER = Sentence(_("%(level)s can do this, and so can you."), _("%(level)s can do this, and so can %(name)s."))
LEVEL_LOWER = Sentence(
    _("%(level)s can do this, but you can’t. Ask one of them."), _("%(level)s can do this, but %(name)s can’t.")
)
FOUR_EYES = Sentence(
    _("You took part in this, so someone else decides."), _("%(name)s took part in this, so someone else decides.")
)
FOUR_EYES_STARTED = Sentence(
    _("You started this on %(when)s, so someone else decides."),
    _("%(name)s started this on %(when)s, so someone else decides."),
)
FOUR_EYES_DID = Sentence(
    _("You took part in “%(step)s” on %(when)s, so someone else decides."),
    _("%(name)s took part in “%(step)s” on %(when)s, so someone else decides."),
)
FOUR_EYES_KEPT_ONE = Sentence(_("%(person)s took part, so someone else decides."))
FOUR_EYES_KEPT_MANY = Sentence(_("%(people)s and %(last)s took part, so someone else decides."))
FOUR_EYES_ABSENT = Sentence(
    _("%(absent)s took part in this, and you stand in for %(absent)s, so someone else decides."),
    _("%(absent)s took part in this, and %(name)s stands in for %(absent)s, so someone else decides."),
)
FOUR_EYES_SERVICE = Sentence(
    _("This needs different people, and a service account is not a person."),
    _("This needs different people, and %(name)s is a service account."),
)
FAMILIAR = Sentence(_("This stays with the people who began it: %(people)s."))
FAMILIAR_KEPT = Sentence(
    _("This stays with the people who began it: %(people)s. That includes you."),
    _("This stays with the people who began it: %(people)s. That includes %(name)s."),
)
ANSWERED = Sentence(_("You answered. Other people still have to."), _("%(name)s answered. Other people still have to."))
OFFERED = Sentence(
    _("It is offered to %(people)s, and that includes you."),
    _("It is offered to %(people)s, and that includes %(name)s."),
)
NOT_OFFERED = Sentence(
    _("It is offered to %(people)s; you are not among them."),
    _("It is offered to %(people)s; %(name)s is not among them."),
)
STANDS_IN = Sentence(
    _("You stand in for %(absent)s until %(until)s."), _("%(name)s stands in for %(absent)s until %(until)s.")
)
ANSWERED_FOR = Sentence(_("%(absent)s answered already. Other people still have to."))
NOT_ANSWERED = Sentence(_("Only a completed task can be done again."))
NOT_REDONE = Sentence(_("The author of this workflow does not let this task be done again."))
NOT_YOURS_TO_REDO = Sentence(_("Only the person who completed this task, or an admin, can have it done again."))
HELD = Sentence(_("One person may hold %(most)s of these at a time."))
CLAIMED_BY_SELF = Sentence(_("You claimed it, so it is yours."), _("%(name)s claimed it."))
GIVEN_TO_SELF = Sentence(_("It is assigned to you."), _("It is assigned to %(name)s."))
CLAIMED_BY_OTHER = Sentence(_("%(winner)s claimed this task."))
WHO_CAN_MOVE_IT = Sentence(
    _("%(winner)s can release it, or someone who may assign tasks can give it to another person."),
)
GIVEN_TO_OTHER = Sentence(_("It is assigned to %(winner)s."))
SEEN_AS_ANSWERED = Sentence(_("You answered it, so you can still see it."), _("%(name)s answered it."))
SEEN_BY_LEVEL = Sentence(
    _("%(level)s see every task of the organisation, and so do you."),
    _("%(level)s see every task of the organisation, and so does %(name)s."),
)
SEEN_AS_LEAD = Sentence(
    _("It is offered to a role that you lead, so you see it."), _("%(name)s leads a role that it is offered to.")
)


@dataclass(frozen=True, slots=True)
class Reason:
    """One rule about a task: whether it allows the action, its text, and the error that it refuses with."""

    code: str
    sentence: Sentence
    words: Mapping[str, Any] = field(default_factory=dict)
    refusal: type[WorkflowError] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    advice: Sentence | None = None
    name: str = ""
    """The person it is about; empty for the reader."""

    @property
    def ok(self) -> bool:
        """Return whether the rule allows the action."""
        return self.refusal is None

    @property
    def text(self) -> str:
        """Return the rule as text, with what the reader can do about it."""
        said = self._said(self.sentence)
        return f"{said} {self._said(self.advice)}" if self.advice else said

    @property
    def error(self) -> WorkflowError | None:
        """Return the error that the rule refuses with, or None."""
        return self.refusal(self._said(self.sentence), code=self.code, **self.facts) if self.refusal else None

    def about(self, name: str) -> "Reason":
        """Return the same rule in words about another person."""
        return replace(self, name=name)

    def _said(self, sentence: Sentence) -> str:
        words = {word: either(value) if isinstance(value, list) else value for word, value in self.words.items()}
        return sentence.said(words, self.name)


def explain_task(actor: Actor, task: Task) -> list[Reason]:
    """Return the rules that decide why the actor sees this task and whether they may act on it.

    That the task is theirs, or offered to them, explains both. Everyone else also reads why they see it.
    """
    reasons = list(_reasons(actor, task))
    if task.is_over:
        return [*_sight(actor, task), reasons[0]]
    meant = any(reason.ok and reason.code in ("yours", "offered", "deputy") for reason in reasons)
    return reasons if meant else [*_sight(actor, task), *reasons]


def refuse_act(actor: Actor, task: Task, *, offered: bool | None = None) -> WorkflowError | None:
    """Return the first rule that forbids the actor to claim or complete this task, or None.

    Pass `offered` where it is known whether the task is offered to the actor; else it is looked up.
    """
    return _first_error(_reasons(actor, task, offered))


def mandate_of(actor: Actor, task: Task, *, offered: bool | None = None) -> StandIn | None:
    """Return the absent person for whom the actor acts on a task; None where it is the actor's own to do, or nobody's.

    Where several are asked and away, it is one for whom no rule forbids it.
    """
    found = list(stood_in_for(actor, task, own=offered)) if actor.stands_in else []
    free = (one for one in found if _first_error(_fitness(actor, task, one)) is None)
    return next(free, found[0] if found else None)


def refuse_given(person: Actor, task: Task) -> WorkflowError | None:
    """Return the rule that forbids to assign a task to a person, even if another has it now, or None."""
    rules = (*_fitness(person, task), _candidate_reason(person, task))
    return _first_error(reason.about(person.name.capitalize()) for reason in rules)


def refuse_person(person: Actor, task: Task) -> WorkflowError | None:
    """Return the rule about the person that forbids to assign them a task, whatever its offer, or None."""
    return _first_error(_fitness(person, task))


def refuse_redo(actor: Actor, task: Task) -> WorkflowError | None:
    """Return the rule that forbids the actor to have an answered task done again, or None; its answerer and operators may."""
    return _first_error(_redo_reasons(actor, task))


def refuse_over(task: Task) -> WorkflowError | None:
    """Return the error for an action on a task that is over, or None while it is open."""
    reason = _status_reason(task)
    return reason.error if reason.code == "closed" else None


def refuse_sending(actor: Actor, task: Task) -> WorkflowError | None:
    """Return the error for an act on a task whose answer is about to be sent, or None."""
    return _first_error(_sending_reason(actor, task))


def _first_error(reasons: Iterable[Reason]) -> WorkflowError | None:
    return next((reason.error for reason in reasons if not reason.ok), None)


def _reasons(actor: Actor, task: Task, offered: bool | None = None) -> Iterator[Reason]:
    absent = mandate_of(actor, task, offered=offered)
    yield _status_reason(task)
    yield from _sending_reason(actor, task)
    yield from _fitness(actor, task, absent)
    yield _deputy_reason(absent) if absent else _offer_reason(actor, task, offered)
    yield from _held_reason(task)


def _fitness(actor: Actor, task: Task, absent: StandIn | None = None) -> Iterator[Reason]:
    """Yield the rules about the person, whatever the offer; a deputy and the absent person must both be free."""
    yield _level_reason(actor, task)
    yield from _four_eyes_reason(actor, task)
    if absent is not None and _are_barred(absent.eyes, task):
        yield Reason("four_eyes", FOUR_EYES_ABSENT, {"absent": absent.title}, Refused, {"for": absent.name})
    yield from _familiar_reason(actor, task, absent)
    yield from _answered_reason(actor, task, absent)


def _deputy_reason(absent: StandIn) -> Reason:
    until = date_format(timezone.localtime(absent.until), "j M Y, H:i")
    return Reason("deputy", STANDS_IN, {"absent": absent.title, "until": until}, facts={"for": absent.name})


def _sight(actor: Actor, task: Task) -> Iterator[Reason]:
    """Explain why the actor sees a task that is not theirs to do, as `access.visible_tasks` decides it."""
    if task.completed_by_id == actor.person_id or actor.name in task.answered_by:
        yield Reason("seen", SEEN_AS_ANSWERED)
    elif actor.level >= TO_SEE_TENANT:
        yield Reason("seen", SEEN_BY_LEVEL, {"level": LEVEL_NAMES[TO_SEE_TENANT]})
    elif not task.is_over and leads_task(actor, task):
        yield Reason("seen", SEEN_AS_LEAD)


def _redo_reasons(actor: Actor, task: Task) -> Iterator[Reason]:
    if task.status != TaskStatus.COMPLETED:
        yield Reason("status", NOT_ANSWERED, refusal=Conflict, facts={"status": task.status})
    if not task.allows("redo"):
        yield Reason("refused", NOT_REDONE, refusal=Refused)
    yield _level_reason(actor, task)
    yield from _four_eyes_reason(actor, task)
    answered = task.completed_by_id == actor.person_id or actor.name in task.answered_by
    if not answered and actor.level < TO_OPERATE:
        yield Reason("level", NOT_YOURS_TO_REDO, refusal=Refused, facts={"needed": int(TO_OPERATE)})


def _status_reason(task: Task) -> Reason:
    status = TaskStatus(task.status)
    if status in OVER:
        return Reason("closed", OVER[status], refusal=Conflict, facts={"status": task.status})
    if status is TaskStatus.SUSPENDED:
        return Reason("status", SUSPENDED, refusal=Conflict, facts={"status": task.status})
    return Reason("open", OPEN)


def _sending_reason(actor: Actor, task: Task) -> Iterator[Reason]:
    """Explain that a task was answered: until its answer is sent, only its person can take it back."""
    due_at = task.answer_due_at
    if due_at is None or task.is_over:
        return
    own = actor.name == task.answer_by_name
    words = {"who": _answerer(task), "at": f"{timezone.localtime(due_at):%H:%M:%S}"}
    facts = {"by": task.answer_by_name, "at": due_at}
    yield Reason("sending", SENDING_OWN if own else SENDING, words, Conflict, facts)


def _answerer(task: Task) -> str:
    holder = task.assignee
    own = holder is not None and holder.username == task.answer_by_name
    return holder.display_name if holder is not None and own else task.answer_by_name.capitalize()


def _level_reason(actor: Actor, task: Task) -> Reason:
    words = {"level": LEVEL_NAMES[task.min_level]}
    if actor.level < task.min_level:
        return Reason("level", LEVEL_LOWER, words, Refused, {"needed": task.min_level})
    return Reason("level", LEVEL_EQUAL if actor.level == task.min_level else LEVEL_HIGHER, words)


def _four_eyes_reason(actor: Actor, task: Task) -> Iterator[Reason]:
    if actor.is_service and task.rules.counts_people:
        yield Reason("four_eyes", FOUR_EYES_SERVICE, refusal=Refused)
    elif _are_barred(actor.eyes, task):
        yield _barred(actor, task)
    elif task.excluded:
        *people, last = _called(task.excluded)
        yield (
            Reason("four_eyes", FOUR_EYES_KEPT_MANY, {"people": ", ".join(people), "last": last})
            if people
            else Reason("four_eyes", FOUR_EYES_KEPT_ONE, {"person": last})
        )


def _are_barred(eyes: frozenset[str], task: Task) -> bool:
    if not eyes.isdisjoint(task.excluded):
        return True
    inside, is_child = task.rules.not_inside, task.instance.parent_token is not None
    if is_child and any(checked_from_outside(task.instance, name) for name in eyes):
        return True
    return bool(inside) and any(took_part_inside(task.instance_id, inside, name) for name in eyes)


def _barred(actor: Actor, task: Task) -> Reason:
    """Explain what bars the actor from a task: what they did, and when."""
    found = (participation_of(task, name) for name in (actor.name, *sorted(actor.same_eyes)))
    done = next((act for act in found if act is not None), None)
    if done is None or done.at is None:
        return Reason("four_eyes", FOUR_EYES, refusal=Refused)
    words = {"step": done.title, "when": date_format(timezone.localtime(done.at), "j M Y, H:i")}
    facts = {"step": done.step or "start", "at": done.at}
    return Reason("four_eyes", FOUR_EYES_DID if done.step else FOUR_EYES_STARTED, words, Refused, facts)


def _familiar_reason(actor: Actor, task: Task, absent: StandIn | None) -> Iterator[Reason]:
    words = {"people": _called(task.familiar)}
    if actor.name in task.familiar or (absent is not None and absent.name in task.familiar):
        yield Reason("same_person", FAMILIAR_KEPT, words)
    elif task.familiar:
        yield Reason("not_candidate", FAMILIAR, words, Refused, {"people": task.familiar})


def _answered_reason(actor: Actor, task: Task, absent: StandIn | None) -> Iterator[Reason]:
    if actor.name in task.answered_by:
        yield Reason("answered", ANSWERED, refusal=Conflict)
    elif absent is not None and absent.name in task.answered_by:
        yield Reason("answered", ANSWERED_FOR, {"absent": absent.title}, Conflict)


def _offer_reason(actor: Actor, task: Task, offered: bool | None) -> Reason:
    if task.assignee_id is not None:
        return _assignee_reason(actor, task)
    return _offer(task, offered if offered is not None else is_offered(actor, task))


def _candidate_reason(actor: Actor, task: Task) -> Reason:
    """Decide whether a task may be assigned to a person: to anyone where the author named no roles or people."""
    anybody = not (task.effective_roles or task.users)
    return _offer(task, anybody or is_offered(actor, task))


def _offer(task: Task, is_offered: bool) -> Reason:
    words = {"people": [*_called(task.effective_roles, "_"), *_called(task.users)]}
    if is_offered:
        return Reason("offered", OFFERED, words)
    return Reason("not_candidate", NOT_OFFERED, words, Refused, {"roles": task.effective_roles})


def _held_reason(task: Task) -> Iterator[Reason]:
    """Explain how many tasks one person may have; the claim itself counts them."""
    most = task.rules.wip_limit
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
    """Write names as people read them; `gap` separates their words."""
    return [name.replace(gap, " ").capitalize() for name in names]


def either(names: list[str]) -> str:
    """Write names as a choice; no names mean everybody."""
    if len(names) < 2:
        return names[0] if names else gettext("everybody")
    return f"{', '.join(names[:-1])}{gettext(' or ')}{names[-1]}"
