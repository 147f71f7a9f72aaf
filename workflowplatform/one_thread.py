"""Answer a request in one thread from its first middleware to its last.

Under ASGI Django runs what is synchronous in a thread, piece by piece: with middleware of both kinds a request changes threads
half a dozen times, and each change waits for a busy interpreter. Everything of ours is synchronous (streams go another way, see
engine.streaming), so that the way there and back is enough.
"""

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class OneThread(ASGIHandler):
    """Django's own handler with its middleware in synchronous form."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """Answer as a synchronous server does, in the request's own thread."""
        return await sync_to_async(self.get_response, thread_sensitive=True)(request)
