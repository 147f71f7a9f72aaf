"""Replace the values of secrets in what comes back from outside by their names, before it is stored.

A server may answer with what it was sent: as it is, inside a longer text, or spelled as JSON, URLs, HTML, hexadecimal or base64
spell it. All those spellings are searched for in one pass, so that a replacement is never searched again. What
a server cuts, hashes or encrypts is not recognised. Secrets shorter than `SHORTEST` are no longer accepted; one from before is
hidden only where it is a whole word, since a few characters are found in any text. engine.transports.base applies it to every
call, workflowplatform.logs to log lines.
"""

import base64
import binascii
import heapq
import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from urllib.parse import quote, quote_plus, urlsplit

from engine.kernel.expressions.secret_marks import hidden
from engine.kernel.signals import Json

SHORTEST = 8
LONG = 256
"""Characters beyond which a secret, such as a certificate's key, is not looked for spelled twice."""
SCHEMES = frozenset({"basic", "bearer", "token", "apikey", "digest", "key"})
"""Words before a credential in a header; a server may answer with what follows them."""
IN_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=")


class Hider:
    """What hides the secrets of one call."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._words: dict[str, str] = {}
        self._cores: dict[str, str] = {}
        self._short: dict[str, str] = {}
        for name, secret in secrets.items():
            shown, parts = hidden(name), list(parts_of(secret))
            self._words |= {word: shown for part in parts for word in spellings(part)}
            self._cores |= {core: shown for part in parts for core in cores(part)}
            if 0 < len(secret) < SHORTEST:
                self._short[secret] = shown

    @property
    def hides(self) -> bool:
        """Return whether there is anything to hide."""
        return bool(self._words or self._short)

    def hide(self, value: Json) -> Json:
        """Return a value with every secret in it hidden, also where it is part of a text, a key or a number."""
        if not self.hides:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.hide(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.hide(item) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            text = json.dumps(value)
            return hidden_text if (hidden_text := self._long(text)) != text else value
        return value

    def text(self, text: str) -> str:
        """Return a text with every secret in it hidden."""
        text = self._long(text)
        return self._short_ones.sub(lambda found: self._short[found.group()], text) if self._short else text

    def holds(self, text: str) -> bool:
        """Return whether a text contains a secret."""
        return self.text(text) != text

    def _long(self, text: str) -> str:
        pieces, at = [], 0
        for start, word in _found(text, [*self._words, *self._cores]):
            end = start + len(word)
            if start < at:
                at = max(at, end)  # overlaps the one before it
                continue
            if word not in self._words:
                start, end = _whole(text, start, end, at)
            pieces += [text[at:start], self._words.get(word) or self._cores[word]]
            at = end
        return "".join([*pieces, text[at:]]) if pieces else text

    @cached_property
    def _short_ones(self) -> re.Pattern[str]:
        words = "|".join(map(re.escape, sorted(self._short, key=len, reverse=True)))
        return re.compile(rf"(?<!\w)(?:{words})(?!\w)")


def _found(text: str, words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Return the positions of any of some words, in order; at one position the longest first."""
    ahead = [(at, -len(word), word) for word in words if (at := text.find(word)) >= 0]
    heapq.heapify(ahead)
    while ahead:
        at, length, word = ahead[0]
        yield at, word
        following = text.find(word, at + len(word))
        if following < 0:
            heapq.heappop(ahead)
        else:
            heapq.heapreplace(ahead, (following, length, word))


def _whole(text: str, start: int, end: int, least: int) -> tuple[int, int]:
    """Widen the middle of something in base64 to all of it: its ends hold the rest of the secret."""
    while start > least and text[start - 1] in IN_BASE64:
        start -= 1
    while end < len(text) and text[end] in IN_BASE64:
        end += 1
    return start, end


def parts_of(secret: str) -> Iterator[str]:
    """Return a secret and its parts: a credential behind its scheme, a password, the path of a URL."""
    found = [secret, secret.strip()]
    scheme, _, credential = secret.strip().partition(" ")
    if scheme.lower() in SCHEMES:
        found.append(credential.strip())
    found += [decoded for text in found if (decoded := _decoded(text))]
    found += [text.partition(":")[2] for text in found if ":" in text and "://" not in text and "\n" not in text]
    if secret.startswith(("http://", "https://")) and (path := _path(secret)):
        found.append(path)
    return (part for part in dict.fromkeys(found) if len(part) >= SHORTEST)


def _path(secret: str) -> str:
    try:
        url = urlsplit(secret.strip())
    except ValueError:
        return ""
    return url.path + (f"?{url.query}" if url.query else "")


def _decoded(text: str) -> str:
    """Return the name and password that a text is in base64, if it is."""
    try:
        found = base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
    return found if ":" in found and found.isprintable() else ""


def spellings(part: str) -> set[str]:
    """Return every way in which a text is plausibly spelled, and those spelled once more."""
    found = {spell(part) for spell in SPELLINGS}
    if len(part) <= LONG:
        found |= {spell(word) for word in found for spell in SPELLINGS}
    return found | {part.encode().hex(), part.encode().hex().upper()}


def cores(part: str) -> Iterator[str]:
    """Return the middle of a text in base64 for each place at which it may begin in something longer, such as `name:password`."""
    raw = part.encode()
    for before in range(3):
        after = (before + len(raw)) % 3
        coded = base64.b64encode(b"\0" * before + raw)
        core = coded[(0, 2, 3)[before] : len(coded) - (0, 3, 2)[after]].decode()
        yield core
        yield core.replace("+", "-").replace("/", "_")


def _small(text: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda found: found.group().lower(), text)


SPELLINGS: tuple[Callable[[str], str], ...] = (
    str,
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1].replace("/", "\\/"),
    lambda text: quote(text, safe=""),
    lambda text: _small(quote(text, safe="")),
    quote,
    lambda text: _small(quote(text)),
    lambda text: quote(text, safe="!$&'()*+,/:;=?@"),
    quote_plus,
    lambda text: _small(quote_plus(text)),
    lambda text: html.escape(text, quote=False),
    html.escape,
    lambda text: text.replace("\r\n", "\n").replace("\n", "\r\n"),
    lambda text: text.encode().decode("latin-1"),
)
"""As it is, JSON, the parts of a URL, HTML, a form's line ends, and bytes that were read in another alphabet."""
