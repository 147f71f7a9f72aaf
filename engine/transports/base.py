"""Make outside calls: one function for every transport, one closed set of outcomes.

Whatever the other side or a registered function does, `make_call` returns `Succeeded` or `Failed` and never raises. It
is called with no transaction open and touches no table. Messages name what happened, never what was sent or received. Secrets are
put in here, and whatever comes back has them hidden before anybody sees it; logs written meanwhile too.

How a call can fail:

=============  =====================  ==========================================================================
class          code                   when
=============  =====================  ==========================================================================
transport      http_408 … http_5xx    the other side is not able to answer now
timeout        no_answer              slower than the time that an attempt has
transport      no_answer              unreachable, or broken off
transport      bad_answer             an answer that cannot be kept: too large, not JSON, too many redirects
transport      exception              a registered function raised something of its own
business       http_4xx               the other side says no
business       (the server's own)     errors in the body of a GraphQL answer; graphql_error where it names no code
business       (the function's own)   a registered function raised BusinessError
authorization  address_refused        the address guard or the tenant's list forbids it
authorization  secret_elsewhere       a secret would go to an origin, or by a way, that it is not meant for
authorization  secrets_refused        a registered function is given secrets and is not registered to take them
definition     bad_request            what the step evaluates to cannot be sent
definition     unknown_transport      nothing here speaks that
definition     unknown_function       no function is registered under that name
=============  =====================  ==========================================================================
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from engine.kernel.expressions.secret_marks import SecretValue, fill_secrets
from engine.kernel.expressions.secret_redaction import Hider
from engine.transports.email import send_email
from engine.transports.graphql import send_graphql
from engine.transports.http import send_http
from engine.transports.outcomes import Call, CallResult, Failed, Json, Succeeded
from engine.transports.python import call_function
from engine.transports.response_checks import fit_to_keep
from workflowplatform.logs import hide_in_logs

__all__ = ["TRANSPORTS", "Call", "CallResult", "Failed", "Succeeded", "hide_secrets", "hider_of", "make_call"]

Transport = Callable[[Call], CallResult]

TRANSPORTS: Mapping[str, Transport] = {
    "http": send_http,
    "graphql": send_graphql,
    "python": call_function,
    "email": send_email,
}


def make_call(
    transport: str,
    request: Mapping[str, Json],
    *,
    key: str,
    timeout_seconds: float,
    http_allow: Sequence[str] | None = None,
    redirects: bool = True,
    secrets: Mapping[str, SecretValue] = MappingProxyType({}),
) -> CallResult:
    """Make one attempt of an outside call, with secrets in place of their marks, and return its outcome without them."""
    send = TRANSPORTS.get(transport)
    if send is None:
        return Failed("definition", "unknown_transport", f"There is no transport named {transport}.")
    filled = fill_secrets(request, {name: secret.value for name, secret in secrets.items()})
    hider = hider_of(secrets)
    show_again = hide_in_logs(hider.text)
    try:
        result = send(Call(filled, key, timeout_seconds, http_allow, redirects, secrets))
    # User code may do anything, sys.exit() included; a worker outlives it.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        result = Failed("transport", "exception", f"The call raised {type(error).__name__}.")
    finally:
        show_again()
    return hide_secrets(fit_to_keep(result), hider)


def hider_of(secrets: Mapping[str, SecretValue]) -> Hider:
    """Return what hides the secrets of a call."""
    return Hider({name: secret.value for name, secret in secrets.items()})


def hide_secrets(result: CallResult, hider: Hider) -> CallResult:
    """Return how a call ended with its secrets hidden; that may be too large to keep, where they were many."""
    if isinstance(result, Succeeded):
        return fit_to_keep(Succeeded(hider.hide(result.value))) if hider.hides else result
    texts = {"code": hider.text(result.code), "message": hider.text(result.message)}
    return fit_to_keep(replace(result, value=hider.hide(result.value), **texts)) if hider.hides else result
