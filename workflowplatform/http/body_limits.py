"""Take no more of a body than its sender may send.

Django keeps a whole body, in memory or on disk, before anything asks who sent it. So it is bounded here, by what the head of the
request says: a REST call without a token or a session may bring none, a form with files as much as the operator allows, all
else as much as Django reads. A body that is too large is not read: the request proceeds with a body that refuses to be read. So
an unknown caller is told to sign in and everyone else that the body is too large, each in the format of the API or page called.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from io import RawIOBase
from typing import IO, Any, NoReturn

from django.conf import settings
from django.core.exceptions import RequestAborted, RequestDataTooBig

from workflowplatform.conf import conf

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Any]]

API = "/api/"
WITH_FILES = b"multipart/form-data"


def most_taken(scope: Message) -> int:
    """Return how many bytes a request may bring, by its head alone."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    known = b"authorization" in headers or settings.SESSION_COOKIE_NAME.encode() + b"=" in headers.get(b"cookie", b"")
    if not known and scope["path"].startswith(API):
        return 0
    if known and headers.get(b"content-type", b"").lower().startswith(WITH_FILES):
        return conf.largest_upload
    return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


class Unread(RawIOBase):
    """A body that was left where it is, because it is too large."""

    def __init__(self, most: int) -> None:
        self._most = most

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> NoReturn:
        """Raise what Django raises, so that API and pages answer as they answer that."""
        raise RequestDataTooBig("The body is too large.")

    def seek(self, offset: int, whence: int = 0) -> int:
        """Report that there is more than may be read."""
        return self._most + 1


class Incoming:
    """What a client sends: its body as far as it is taken, afterwards only whether the client is still there."""

    def __init__(self, scope: Message, receive: Receive) -> None:
        self._receive = receive
        self._most = most_taken(scope)
        declared = dict(scope["headers"]).get(b"content-length", b"")
        self._left = declared.isdigit() and int(declared) > self._most

    async def __call__(self) -> Any:
        """Pass on what comes; of a body that was left, nothing is asked for any more."""
        return await (asyncio.Event().wait() if self._left else self._receive())

    async def body(self) -> IO[bytes]:
        """Return the body, or one that refuses to be read."""
        kept: IO[bytes] = tempfile.SpooledTemporaryFile(settings.FILE_UPLOAD_MAX_MEMORY_SIZE)  # noqa: SIM115  closed with its request
        more, taken = not self._left, 0
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                kept.close()
                raise RequestAborted
            taken += kept.write(message.get("body", b""))
            self._left = taken > self._most
            more = message.get("more_body", False) and not self._left
        if self._left:
            kept.close()
            return Unread(self._most)  # type: ignore[return-value]
        kept.seek(0)
        return kept
