"""Name levels as people read them, and refuse actions below a level."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from engine.errors import Refused
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import Level

LEVEL_NAMES: Mapping[int, Any] = {
    Level.PUBLIC: _("Guests"),
    Level.USER: _("Users"),
    Level.MODERATOR: _("Moderators"),
    Level.ADMIN: _("Admins"),
    Level.GOD: _("Gods"),
    Level.SUPERGOD: _("Supergods"),
}
"""The people of a level, as the beginning of a sentence."""


def require_level(actor: Actor, level: int, act: str) -> None:
    """Raise Refused unless the actor has the level."""
    if actor.level < level:
        words = {"act": gettext(act), "people": LEVEL_NAMES[level]}
        message = gettext("You need more rights to %(act)s. %(people)s have them.") % words
        raise Refused(message, code="level", needed=int(level))
