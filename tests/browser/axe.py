"""Ask axe-core what is wrong with a page, by the rules of WCAG 2.2 AA: none switched off, no part of the page left out.

`faults_of(page)` checks a page as it is; `faults_in(page, LOOKS)` checks it in every look, without loading it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from playwright.sync_api import Page

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
RUN = """tags => axe.run(document, {
  runOnly: {type: 'tag', values: tags}, resultTypes: ['violations'], preload: {assets: ['media']},
})"""
"""Style sheets are not loaded a second time: axe would write them into the page, which our policy forbids, and no rule asks."""
SETTLE = "() => document.getAnimations().forEach(one => one.effect.getTiming().iterations === Infinity || one.finish())"
"""A colour on its way to another is nobody's colour: let everything that moves arrive."""
HEIGHT = 860


class Look(NamedTuple):
    """How a page is looked at."""

    scheme: Literal["light", "dark"]
    width: int


LIGHT, DARK, LIGHT_PHONE, DARK_PHONE = Look("light", 1280), Look("dark", 1280), Look("light", 360), Look("dark", 360)
LOOKS = (LIGHT, DARK, LIGHT_PHONE, DARK_PHONE)
FEW_LOOKS = (LIGHT, DARK_PHONE)
"""Every scheme and every width once: what a short run can afford."""


def faults_in(page: Page, looks: Iterable[Look] = LOOKS) -> list[str]:
    """Return what is wrong with a page in any of some looks; each fault begins with its look."""
    before = page.viewport_size
    faults = []
    for look in looks:
        page.emulate_media(color_scheme=look.scheme)
        page.set_viewport_size({"width": look.width, "height": HEIGHT})
        faults += [f"{look.scheme} {look.width} px: {fault}" for fault in faults_of(page)]
    if before:
        page.set_viewport_size(before)
    return faults


def faults_of(page: Page) -> list[str]:
    """Return what is wrong with a page: the rule, what it asks for, and where it is broken."""
    page.wait_for_load_state()  # its text may be there before its style sheets are
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_source())
    page.evaluate(SETTLE)
    found: dict[str, Any] = page.evaluate(RUN, TAGS)
    return [f"{rule['id']}: {rule['help']}: {node['html']}" for rule in found["violations"] for node in rule["nodes"]]


@cache
def _source() -> str:
    """Read axe-core from the package that carries it."""
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
