"""Compute the layout of diagrams while a worker drains: never in a request, never in the way of a signal.

A worker that looks for work also looks, every few seconds, for versions without a picture, and hands a few of them to a
separate process. It keeps draining and picks up the result at a later look.
"""

import time

import structlog
from django.db import IntegrityError

from engine.conf import conf
from engine.diagram.graph import flow_of
from engine.diagram.layout import MADE_WITH, Layout
from engine.models import TemplateVersion
from engine.services.templates.diagrams import claim_undrawn, keep_geometry

log = structlog.get_logger(__name__)

AT_ONCE = 8
EVERY = 4.0
WHILE_DRAWING = 0.5
"""Seconds between looks while a layout is under way: a user may be waiting for the picture."""


class DiagramWorker:
    """One worker's share in drawing diagrams."""

    def __init__(self) -> None:
        self._versions: list[TemplateVersion] = []
        self._layout: Layout | None = None
        self._next_look = time.monotonic() + EVERY

    @property
    def every(self) -> float:
        """Return how soon to look again."""
        return WHILE_DRAWING if self._layout is not None else EVERY

    def look(self) -> None:
        """Continue the layout under way, or begin one when it is time."""
        if self._layout is not None and self._layout.is_over():
            self._keep(self._layout)
        if self._layout is None and conf.diagrams and time.monotonic() >= self._next_look:
            self._begin()

    def _begin(self) -> None:
        self._versions = claim_undrawn(AT_ONCE)
        # A full hand means that more may wait: then the next look begins at once.
        self._next_look = time.monotonic() + (0.0 if len(self._versions) == AT_ONCE else EVERY)
        if self._versions:
            self._layout = Layout([flow_of(version.canonical) for version in self._versions])

    def _keep(self, layout: Layout) -> None:
        self._layout = None
        made = list(zip(self._versions, layout.result(), strict=True))
        log.info("laid out diagrams", versions=len(made), failed=sum(geometry is None for _version, geometry in made))
        for version, geometry in made:
            try:
                keep_geometry([(version, geometry)], made_with=MADE_WITH)
            except IntegrityError:  # the draft was deleted meanwhile
                continue
