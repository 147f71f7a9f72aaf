"""Answer a request in one thread from its first middleware to its last.

Under ASGI Django runs what is synchronous in a thread, piece by piece: with middleware of both kinds a request changes threads
half a dozen times, and each change waits for a busy interpreter. Everything of ours is synchronous (streams are served
elsewhere, see engine.streaming), so one change to the thread and one back is enough.

By then the whole body is here. A chunked body has no Content-Length, and code that reads bodies would take it for an empty one:
its length is measured instead.
"""

import os
from typing import IO, Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.core.handlers.base import BaseHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from workflowplatform.http.body_limits import Incoming


class SyncASGIHandler(ASGIHandler):
    """Django's own handler with its middleware in synchronous form."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        """Take no more of the body than may be sent."""
        await super().handle(scope, Incoming(scope, receive), send)

    async def read_body(self, receive: Incoming) -> IO[bytes]:  # type: ignore[override]
        """Take the body as far as it is taken."""
        return await receive.body()

    def create_request(
        self, scope: Any, body_file: IO[bytes]
    ) -> tuple[ASGIRequest, None] | tuple[None, HttpResponseBase]:
        """Set CONTENT_LENGTH where the sender did not."""
        made = super().create_request(scope, body_file)
        if made[0] is not None and "CONTENT_LENGTH" not in made[0].META:
            made[0].META["CONTENT_LENGTH"] = str(body_file.seek(0, os.SEEK_END))
            body_file.seek(0)
        return made

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """Answer as a synchronous server does, in the request's own thread."""
        return await sync_to_async(self.get_response, thread_sensitive=True)(request)
