"""A mail server on loopback: takes what is sent to it, or refuses an address as a test wants."""

from __future__ import annotations

import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller


@dataclass
class Post:
    """What the server got, and which addresses it refuses with which answer."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    says_to_sender: str = "250 OK"
    says_to_data: str = "250 OK"
    taken: list[Callable[[], None]] = field(default_factory=list)
    """What happens when a mail is taken, before the server says so."""

    async def handle_MAIL(self, server: Any, session: Any, envelope: Any, address: str, options: list[str]) -> str:
        envelope.mail_from = address
        return self.says_to_sender

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: list[str]) -> str:
        if address in self.refused:
            return self.refused[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if not self.says_to_data.startswith("250"):
            return self.says_to_data
        mail = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        for one in self.taken:
            one()
        return self.says_to_data

    def to(self, address: str) -> list[EmailMessage]:
        """Return the mails to one address, in the order in which they came."""
        return [mail for mail in self.mails if address in str(mail["To"])]


def texts_of(mail: EmailMessage) -> tuple[str, str]:
    """Return the plain text and the HTML of a mail."""
    found = {
        part.get_content_type(): part.get_content() for part in mail.walk() if part.get_content_maintype() == "text"
    }
    return found["text/plain"], found["text/html"]


@contextmanager
def mail_server() -> Generator[Post]:
    """Run a mail server for as long as the block lasts."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    post = Post(port)
    controller = Controller(post, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield post
    finally:
        controller.stop()
