"""Level is a floor."""

from django.utils.translation import gettext

from engine.errors import Refused
from workflowplatform.accounts.actor import Actor


def require_level(actor: Actor, level: int, act: str) -> None:
    """Refuse an act below its level."""
    if actor.level < level:
        words = {"act": gettext(act), "needed": int(level), "level": actor.level}
        message = gettext("To %(act)s you need level %(needed)s; you have level %(level)s.") % words
        raise Refused(message, code="level", needed=int(level))
