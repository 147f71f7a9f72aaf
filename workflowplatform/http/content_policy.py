"""Send the Content Security Policy, which is the same for nearly every answer: it is written once."""

from dataclasses import asdict

from csp.constants import HEADER
from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

OF_AN_ANSWER = ("_csp_config", "_csp_update", "_csp_replace", "_csp_exempt")
"""What a view may say about the policy of its own answer."""


class ContentPolicyMiddleware(CSPMiddleware):
    """Write the policy anew only where a view or a nonce makes it another one."""

    _usual: str | None = None

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Add the usual policy, or leave it to the library."""
        is_usual = not any(hasattr(response, name) for name in OF_AN_ANSWER) and not hasattr(request, "_csp_nonce")
        if settings.DEBUG or not is_usual:
            return super().process_response(request, response)
        if self._usual is None:
            self._usual = build_policy(**asdict(self.get_policy_parts(request, response)))
        response.headers.setdefault(HEADER, self._usual)
        return response
