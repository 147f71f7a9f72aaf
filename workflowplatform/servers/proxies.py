"""Read WORKFLOW_PROXIES: which proxies are in front of the server, and so whose forwarded addresses are believed."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_network

from workflowplatform.servers.errors import CannotStart

UNIX = "unix"
"""The word by which the operator trusts every client of the server's Unix socket."""


def checked_proxies(words: Sequence[str]) -> list[str]:
    """Return the networks as they were written; refuse what is none in one sentence."""
    for word in words:
        try:
            if word != UNIX:
                ip_network(word, strict=False)
        except ValueError:
            wanted = "write networks such as 10.0.0.0/24 or 127.0.0.1, with commas between them, or unix."
            raise CannotStart(f"WORKFLOW_PROXIES names {word}, which is no network: {wanted}") from None
    return list(words)
