"""The gallery of workflows that one may start: cards with what each asks of people and how long it usually takes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from engine import access
from engine.diagram.step_names import label_of
from engine.models import TemplateVersion
from engine.services.insights.durations import usual_times
from workflowplatform.accounts.actor import Actor

MOST_USED = 6
ICONS: Sequence[tuple[str, str]] = (
    ("expense|invoice receipt|refund", "receipt"),
    ("purchase|order|buy", "shopping-cart"),
    ("travel|trip", "plane"),
    ("payment|pay run", "cash"),
    ("contract|renewal", "file-certificate"),
    ("onboarding|hire|job", "user-plus"),
    ("offboarding|leaver", "user-minus"),
    ("leave|vacation|holiday", "calendar-event"),
    ("access|password", "key"),
    ("repair|equipment", "tool"),
    ("incident|failure|outage", "urgent"),
    ("board|quorum|resolution|vote|decision", "gavel"),
    ("help|support|desk", "lifebuoy"),
    ("content|advert|publish|reply", "speakerphone"),
    ("invoice|document|dispute|review", "file-text"),
)
"""Words in a workflow's title that bring an icon with them; the first that fits."""
PLAIN_ICON = "route"


@dataclass(frozen=True, slots=True)
class Card:
    """A template in the gallery."""

    name: str
    title: str
    description: str
    tags: tuple[str, ...]
    icon: str
    people: str
    time: str
    used: bool

    def fits(self, words: str, tag: str) -> bool:
        """Return whether it matches the search."""
        return words.lower() in f"{self.title} {self.description}".lower() and (not tag or tag in self.tags)


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    cards: list[Card]


def cards_for(actor: Actor) -> list[Card]:
    """Make a card of everything that the actor may start; three queries, however many there are."""
    started = access.visible_instances(actor).filter(started_by_id=actor.person_id)
    used = set(started.order_by().values_list("template_id", flat=True).distinct())
    versions = access.startable_versions(actor)
    times = usual_times(actor=actor, template_ids=[version.template_id for version in versions])
    return [_card(version, version.template_id in used, times.get(version.template_id)) for version in versions]


def _card(version: TemplateVersion, used: bool, usual: timedelta | None) -> Card:
    template, tasks = version.template, list(_tasks(version.canonical))
    return Card(
        template.name,
        str(template),
        template.description,
        tuple(template.tags or ()),
        next((icon for words, icon in ICONS if re.search(words, str(template), re.IGNORECASE)), PLAIN_ICON),
        _people_words(tasks),
        "" if usual is None else time_words(usual),
        used,
    )


def _tasks(part: Any) -> Iterator[dict[str, Any]]:
    """Find the tasks of a definition, at any depth."""
    if isinstance(part, dict):
        if isinstance(part.get("task"), dict):
            yield part["task"]
        part = list(part.values())
    if isinstance(part, list):
        for one in part:
            yield from _tasks(one)


def _people_words(tasks: list[dict[str, Any]]) -> str:
    """Describe the work for people: approvals can be refused, other tasks can only be done."""
    if not tasks:
        return _("runs by itself")
    approvals = sum(any(outcome.get("reject") for outcome in task.get("outcomes") or ()) for task in tasks)
    if approvals == len(tasks):
        return ngettext("%(n)d approval", "%(n)d approvals", approvals) % {"n": approvals}
    return ngettext("%(n)d task", "%(n)d tasks", len(tasks)) % {"n": len(tasks)}


def time_words(usual: timedelta) -> str:
    """Write roughly how long something takes."""
    hours = usual.total_seconds() / 3600
    if hours < 1:
        return _("minutes")
    if hours < 10:
        return _("about %(n)d h") % {"n": round(hours)}
    if hours < 20:
        return _("same day")
    days = round(hours / 24)
    if days < 14:
        return ngettext("about %(n)d day", "about %(n)d days", days) % {"n": days}
    return _("about %(n)d weeks") % {"n": round(days / 7)}


def sections_of(cards: list[Card]) -> list[Section]:
    """Group cards: those used before, then by first tag; a tag with one card is not worth a heading."""
    used = [card for card in cards if card.used][:MOST_USED]
    rest = [card for card in cards if card not in used]
    by_tag: dict[str, list[Card]] = {}
    for card in rest:
        by_tag.setdefault(card.tags[0] if card.tags else "", []).append(card)
    groups = {tag: some for tag, some in sorted(by_tag.items()) if tag and len(some) > 1}
    others = [card for card in rest if not any(card in some for some in groups.values())]
    sections = [
        Section(_("You use these"), used),
        *(Section(label_of(tag), some) for tag, some in groups.items()),
        Section(_("Others") if groups or used else _("All"), others),
    ]
    return [section for section in sections if section.cards]


def tags_of(cards: list[Card]) -> list[tuple[str, str, int]]:
    """List the tags that occur, in words, with how many cards have each."""
    tags = sorted({tag for card in cards for tag in card.tags})
    return [(tag, label_of(tag), sum(tag in card.tags for card in cards)) for tag in tags]
