"""Sign what is told to the outside, as Standard Webhooks writes it.

The signature is HMAC-SHA256 over `id.timestamp.body` under the secret's bytes, in base64 behind `v1,`. While a secret is being
replaced both sign, one after the other, and the other side takes either.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable

PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret() -> str:
    """Make a secret, in the form that both sides keep."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signature_of(secret: str, message_id: str, timestamp: int, body: str) -> str:
    """Sign one message under one secret."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.{body}".encode()
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def signed_headers(secrets_in_use: Iterable[str], message_id: str, timestamp: int, body: str) -> dict[str, str]:
    """Return the three headers by which the other side knows what it got, from whom, and how old it is."""
    signatures = [signature_of(secret, message_id, timestamp, body) for secret in secrets_in_use]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signatures),
    }
