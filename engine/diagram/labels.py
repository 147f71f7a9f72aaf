"""Write the short labels of edges and start nodes: conditions, handlers, triggers, durations."""

import re
from collections.abc import Mapping
from typing import Any

from django.utils.html import escape
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from engine.diagram.step_names import label_of

LONGEST = 34
PARTS = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?")


def trigger_words(canonical: Mapping[str, Any]) -> str:
    """Return how a case begins."""
    if canonical.get("trigger") == "event":
        return label_of(str(canonical.get("event", {}).get("name", "event")).replace(".", " "))
    return _("By the clock") if canonical.get("trigger") == "scheduled" else _("Start")


def condition_words(condition: Any) -> str:
    """Shorten a condition for an edge: the compared text where it is one, else the expression."""
    if condition is None:
        return ""
    text = str(condition).strip()
    found = re.fullmatch(r"[\w.\[\]']+\s*==\s*'([^']*)'", text) or re.fullmatch(r"[\w.]+\s*==\s*\"([^\"]*)\"", text)
    return label_of(found[1]) if found and found[1] else shortened(text)


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """Write an author's text for XML: escaped, and without the few characters that XML cannot hold."""
    return escape(_NOT_XML.sub("\ufffd", text))


def shortened(text: str) -> str:
    """Cut what is too long for a picture."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"


def handler_words(handler: Mapping[str, Any]) -> str:
    """Return what a handler or reminder listens to."""
    if "signal" in handler:
        name = handler["signal"]["name"] if isinstance(handler["signal"], Mapping) else handler["signal"]
        return shortened(label_of(str(name)))
    if "after" in handler:
        return _("after %(time)s") % {"time": duration_words(handler["after"])}
    if "every" in handler:
        return _("every %(time)s") % {"time": duration_words(handler["every"])}
    if "escalation" in handler:
        return _("escalated: %(name)s") % {"name": shortened(label_of(str(handler["escalation"])))}
    return _("at its time") if "at" in handler else _("fails")


def duration_words(text: Any) -> str:
    """Write an ISO duration in words; one that is computed is only named."""
    found = PARTS.fullmatch(str(text))
    if not found or not any(found.groups()):
        return _("a while")
    weeks, days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    said = [
        ngettext("%(n)g week", "%(n)g weeks", int(weeks)) % {"n": weeks} if weeks else "",
        ngettext("%(n)g day", "%(n)g days", int(days)) % {"n": days} if days else "",
        _("%(n)g h") % {"n": hours} if hours else "",
        _("%(n)g min") % {"n": minutes} if minutes else "",
        _("%(n)g s") % {"n": seconds} if seconds else "",
    ]
    return " ".join(part for part in said if part)
