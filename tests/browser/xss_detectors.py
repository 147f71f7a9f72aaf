"""Every way in which the XSS tests notice that a payload was more than text.

It ran (a variable, a dialog, a request to a host that only payloads name), the content security policy stopped it, or it
became an element, an attribute, a script, a style, a comment or an address. What it did besides (a word in the console, an
uncaught error, a request elsewhere) is heard by Watch. None needs another: test_xss_detectors.py shows for each a page
that it alone notices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import Dialog, Page, Request

from tests.browser.payloads import MARKER
from tests.browser.watching import Watch

RAN = f"Object.keys(window).filter((name) => name.startsWith('{MARKER}'))"
BECAME = """
(marker) => {
  const active = /^(on|hx-|x-|@|:|v-)|^(srcdoc|style|background)$/;
  const addresses = new Set(['href', 'src', 'action', 'data', 'formaction', 'poster', 'xlink:href', 'content']);
  const found = [];
  const leadsAway = (value) => {
    try {
      return new URL(value.replace(/^\\d+;\\s*url=/i, ''), location.href).origin !== location.origin;
    } catch {
      return true;
    }
  };
  const judge = (element) => {
    const tag = element.localName;
    if (tag.includes(marker)) found.push(`<${tag}>`);
    for (const {name, value} of element.attributes) {
      const marked = value.includes(marker);
      if (name.includes(marker) || (marked && active.test(name)) || (marked && addresses.has(name) && leadsAway(value))) {
        found.push(`<${tag} ${name}=${value.slice(0, 80)}>`);
      }
    }
    const raw = tag === 'style' || (tag === 'script' && element.type !== 'application/json');
    if (raw && element.textContent.includes(marker)) found.push(`<${tag}> ${element.textContent.slice(0, 80)}`);
  };
  const walk = (root) => {
    const nodes = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_COMMENT);
    for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
      if (node.nodeType === Node.COMMENT_NODE) {
        if (node.data.includes(marker)) found.push(`<!-- ${node.data.slice(0, 80)}`);
      } else {
        judge(node);
        if (node.localName === 'template') walk(node.content);
      }
    }
  };
  walk(document);
  return found;
}
"""
SHOWN = """
(marker) => {
  const values = [...document.querySelectorAll('input, textarea, select')].map((field) => field.value);
  const everything = document.documentElement.outerHTML + values.join();
  return [...new Set(everything.match(new RegExp(marker + 'q\\\\d{3}', 'g')))];
}
"""


NOTICE = """
window.stoppedByPolicy = [];
addEventListener('securitypolicyviolation',
  (event) => window.stoppedByPolicy.push(event.violatedDirective + ' ' + event.blockedURI));
"""
STOPPED = "window.stoppedByPolicy || []"


@dataclass
class Canary:
    """Notice everything that a payload does on a page, from its next document on."""

    page: Page
    watch: Watch | None = None
    dialogs: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """Requests to hosts that only payloads name."""

    def __post_init__(self) -> None:
        self.page.add_init_script(NOTICE)
        self.page.on("dialog", self._hear)
        self.page.on("request", self._see)

    def _see(self, request: Request) -> None:
        if MARKER in (urlsplit(request.url).hostname or ""):
            self.asked.append(request.url)

    def _hear(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def ran(self) -> list[str]:
        """Return the variables that payloads set on this document, and the dialogs and requests they made so far."""
        return [*variables_on(self.page), *self.dialogs, *self.asked]

    def noticed(self) -> dict[str, list[str]]:
        """Return what each detector found; those that found nothing are left out."""
        found = {name: detect(self) for name, detect in DETECTORS.items()}
        return {name: complaints for name, complaints in found.items() if complaints}


def variables_on(page: Page) -> list[str]:
    """Return the variables that payloads set on this document."""
    variables: list[str] = page.evaluate(RAN)
    return variables


def stopped_on(page: Page) -> list[str]:
    """Return what the content security policy of this document stopped."""
    stopped: list[str] = page.evaluate(STOPPED)
    return stopped


def became_markup(page: Page) -> list[str]:
    """Return the elements, attributes, comments, scripts and styles of this document that came from a payload."""
    found: list[str] = page.evaluate(BECAME, MARKER)
    return found


def codes_on(page: Page) -> set[str]:
    """Return the codes of the fields whose payloads this document holds, in whatever form."""
    return set(page.evaluate(SHOWN, MARKER))


DETECTORS: dict[str, Callable[[Canary], list[str]]] = {
    "variable": lambda canary: variables_on(canary.page),
    "dialog": lambda canary: canary.dialogs,
    "request": lambda canary: canary.asked,
    "policy": lambda canary: stopped_on(canary.page),
    "markup": lambda canary: became_markup(canary.page),
    "watch": lambda canary: canary.watch.complaints if canary.watch else [],
}
"""All detectors by name; dialogs, requests and what Watch heard add up over the documents of a page."""
