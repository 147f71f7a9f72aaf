"""What no page may do for any person: write errors to the console, request another host, break."""

from __future__ import annotations

from dataclasses import dataclass, field

from playwright.sync_api import BrowserContext, ConsoleMessage, Request, Response

REFUSED = "Failed to load resource"
LIVE = ("/api/v1/stream/", "/inbox/live/")


@dataclass
class Watch:
    """Collect every complaint of every page of one test."""

    complaints: list[str] = field(default_factory=list)
    addresses: set[str] = field(default_factory=set)
    refused_pages: set[str] = field(default_factory=set)
    ended: bool = False

    def end(self) -> None:
        """Look away: what pages say while they are closed is not what anybody sees."""
        self.ended = True

    def over(self, context: BrowserContext, product: str) -> None:
        """Watch all pages of a context."""
        context.on("console", self._heard)
        context.on("weberror", lambda error: self._complain(f"uncaught: {error.error}"))
        context.on("request", lambda request: self._asked(request, product))
        context.on("response", self._answered)

    def addresses_with(self, *words: str) -> set[str]:
        """List the addresses asked so far that hold one of some words; not those that only tell the asker's own news."""
        asked = {address for address in self.addresses if address.partition("?")[0] not in LIVE}
        return {address for address in asked if any(word in address for word in words)}

    def _complain(self, words: str) -> None:
        if not self.ended:
            self.complaints.append(words)

    def _heard(self, message: ConsoleMessage) -> None:
        # Chromium also writes a line for a page that was refused (400, 409): that refusal is what a test looks at.
        own_refusal = (
            message.text.startswith(REFUSED) and message.location["url"].partition("#")[0] in self.refused_pages
        )
        # And one for a stream that was cut, as by a server that was killed: the page says so itself and tries again.
        cut = "net::ERR_" in message.text and message.location["url"].partition("?")[0].endswith(LIVE)
        if message.type in ("error", "warning") and not own_refusal and not cut:
            self._complain(f"console {message.type}: {message.text} ({message.location['url']})")

    def _asked(self, request: Request, product: str) -> None:
        if request.url.startswith(product):
            self.addresses.add(request.url.removeprefix(product))
        elif not request.url.startswith("data:"):
            self._complain(f"asked the outside: {request.url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 500:
            self._complain(f"broke with {response.status}: {response.url}")
        elif response.status >= 400 and response.request.is_navigation_request():
            self.refused_pages.add(response.url)
        elif response.status >= 400:
            self._complain(f"missing ({response.status}): {response.url}")
