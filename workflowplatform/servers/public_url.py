"""Read WORKFLOW_PUBLIC_URL: where people reach the product, for links in mails."""

from __future__ import annotations

from urllib.parse import urlsplit

from workflowplatform.servers.errors import CannotStart

WANTED = "write an origin such as https://workflow.example.com, without a path."


def origin_of(text: str) -> str:
    """Return the origin without its last slash, empty where nothing is said; refuse everything else in one sentence."""
    text = text.strip()
    if not text or _is_origin(text):
        return text.rstrip("/")
    raise CannotStart(f"WORKFLOW_PUBLIC_URL is not the address of a website: {WANTED}")


def _is_origin(text: str) -> bool:
    try:
        parts = urlsplit(text)
        rest = (parts.path.strip("/"), parts.query, parts.fragment, parts.username, parts.password)
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    is_clean = not any(letter.isspace() or letter in '<>"\\' for letter in text)
    return parts.scheme in {"http", "https"} and has_host and not any(rest) and is_clean
