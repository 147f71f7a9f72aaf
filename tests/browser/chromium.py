"""The machine's Chromium under Playwright, and what is done when it hangs.

Some of Playwright's calls know no time limit: opening and closing pages, evaluating, pressing keys. One that Chromium never
answers would hold the whole run, so a test that takes too long loses its browser, and every call in it fails at once.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Error, sync_playwright

from workflowplatform.servers.processes import kill_group

FLAGS = ("--disable-background-networking", "--font-render-hinting=none")
CLOSING_MILLISECONDS = 5_000


@dataclass
class Chromium:
    """Hold one browser: started when it is wanted, and anew after it was ended."""

    path: str
    _opened: ExitStack = field(default_factory=ExitStack)
    _browser: Browser | None = None
    _drivers: set[int] = field(default_factory=set)

    def new_context(self, **options: Any) -> BrowserContext:
        """Open a browser context."""
        self._browser = self._browser or self._start()
        return self._browser.new_context(**options)

    def _start(self) -> Browser:
        others = _children_of(os.getpid())
        playwright = self._opened.enter_context(sync_playwright())
        self._drivers = _children_of(os.getpid()) - others
        # Its sandbox refuses root.
        flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        return playwright.chromium.launch(executable_path=self.path, args=flags)

    def close(self) -> None:
        """Close it; one that was ended cannot answer any more."""
        if self._browser:
            with suppress(Error):
                self._browser.close()
        self._browser, self._drivers = None, set()
        self._opened.close()

    @contextmanager
    def patience(self, seconds: float) -> Generator[threading.Event, None, None]:
        """End the browser if the block takes longer; the event says whether it did."""
        ran_out = threading.Event()
        timer = threading.Timer(seconds, lambda: (ran_out.set(), self._kill()))
        timer.start()
        try:
            yield ran_out
        finally:
            timer.cancel()
            timer.join()
            if ran_out.is_set():
                self.close()

    def _kill(self) -> None:
        for driver in self._drivers:
            for browser in _children_of(driver):
                kill_group(browser)
            with suppress(ProcessLookupError):
                os.kill(driver, signal.SIGKILL)


def close_calmly(context: BrowserContext) -> None:
    """Bring all pages to rest, then close: a page that is closed while it takes in another is never ended by Chromium.

    (microsoft/playwright#42366. Seen with Chromium 156 when a test's last line was a click that leads elsewhere.)
    """
    for page in context.pages:
        with suppress(Error):
            page.goto("about:blank", timeout=CLOSING_MILLISECONDS)
    context.close()


def _children_of(parent: int) -> set[int]:
    """List the processes that one started (Linux; elsewhere none is found and none is ended)."""
    return {int(process.name) for process in Path("/proc").glob("[0-9]*") if _parent_of(process) == parent}


def _parent_of(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:  # it has just ended
        return 0
