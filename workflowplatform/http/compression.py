"""Compress pages on their way: most of a list is the same words again. Files and streams are sent as they are.

Compression tells an eavesdropper how long a page is: a secret next to a text of their choice could be guessed by it.
The only secret of a page is its form token, which is masked anew each time, and Django adds a random length besides.
"""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class CompressedPages(GZipMiddleware):
    """Compress HTML that is there as a whole."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Return the page compressed, where its reader takes that."""
        is_page = response.get("Content-Type", "").startswith("text/html")
        return super().process_response(request, response) if is_page and not response.streaming else response
