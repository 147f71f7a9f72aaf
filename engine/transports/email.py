"""Send an e-mail through Django's mail settings."""

import time
from email.utils import make_msgid

from django.core.mail import EmailMessage, get_connection

from engine.transports.outcomes import Call, CallResult, Failed, Succeeded
from workflowplatform.mail_texts import one_line


def send_email(call: Call) -> CallResult:
    """Send one message; the result is its id. A repeat carries the same key, which mail servers do not look at.

    A secret that names origins is not sent by mail, which is none of them.
    """
    to = call.request.get("to")
    receivers = [to] if isinstance(to, str) else list(to or [])
    if not receivers or not all(isinstance(address, str) and "@" in address for address in receivers):
        return Failed("definition", "bad_request", "The e-mail has no recipient.")
    if bound := sorted(name for name, secret in call.secrets.items() if secret.origins):
        return Failed("authorization", "secret_elsewhere", f"The secret {bound[0]} may not be sent by e-mail.")
    mail = EmailMessage(
        subject=one_line(str(call.request.get("subject") or "")),
        body=str(call.request.get("text") or ""),
        to=receivers,
        headers={"Message-ID": make_msgid(), "X-Idempotency-Key": call.key},
        connection=get_connection(timeout=call.timeout_seconds),
    )
    began = time.monotonic()
    try:
        mail.send()
    except OSError as error:
        late = time.monotonic() - began >= call.timeout_seconds
        what = f"The mail server refused it: {type(error).__name__}."
        return Failed("timeout" if late else "transport", "no_answer", what)
    return Succeeded({"id": mail.extra_headers["Message-ID"]})
