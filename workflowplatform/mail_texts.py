"""Write what the platform itself mails: plain text in which only the platform's own links can be followed.

Names and titles come from people. Mail programs turn anything that looks like an address into a link, so a person named
`Click https://evil.example` could place one in a mail that the platform signs. Every text that goes into a mail is
therefore shown without control characters and with its addresses broken up; a `Link` is the only exception.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from django.core.mail import send_mail
from django.template.loader import render_to_string

JOINERS = "\u200c\u200d"
"""Some scripts cannot be written without these two; all other invisible characters are dropped."""
DOTS = ".\uff0e\u3002\uff61"
"""What browsers read as the dot of a host's name."""
_DOT_IN_HOST = re.compile(rf"(?<=\w)[{DOTS}](?=[^\W\d_]{{2}})")
_SCHEME = re.compile(
    r"[:\uff1a](?=\s*[/\\\uff0f]{2})|(?<=\bmailto)[:\uff1a]|(?<=\btel)[:\uff1a]|(?<=\bsms)[:\uff1a]", re.I
)


class Link(str):
    """An address of the platform's own, which may be followed."""

    __slots__ = ()


def one_line(text: str) -> str:
    """Return a text without line breaks and other control characters, as a subject needs it."""
    return " ".join("".join(map(_visible, text)).split())


def _visible(character: str) -> str:
    if character in JOINERS:
        return character
    kind = unicodedata.category(character)
    if kind in ("Cc", "Zl", "Zp"):
        return " "
    return "" if kind in ("Cf", "Cs") else character


def as_words(text: str) -> str:
    """Return one line in which no mail program finds an address: `https[:]//evil[.]example`."""
    return _SCHEME.sub("[:]", _DOT_IN_HOST.sub("[.]", one_line(text)))


def as_lines(text: str) -> str:
    """Return a text of several lines in which no mail program finds an address."""
    return "\n".join(as_words(line) for line in text.splitlines())


def send_page(to: Sequence[str], subject: str, page: str, texts: Mapping[str, str]) -> None:
    """Mail a page of templates/mails; it and the subject, with `%(name)s`, see only these texts, as words."""
    words = {name: text if isinstance(text, Link) else as_words(text) for name, text in texts.items()}
    send_mail(one_line(subject % words), render_to_string(page, words), None, list(to))
