"""Send push messages to browsers: encrypted for one browser (RFC 8291), signed with this server's key (RFC 8292).

The message goes through the address guard like any call: where it goes is what a browser said. The key is in a file, made once,
so that subscriptions outlive a restart; all hosts need the same.
"""

import base64
import json
import os
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from engine.conf import conf
from engine.transports.http import send_http
from engine.transports.outcomes import Call, CallResult, Failed
from workflowplatform.servers.secret_key import make_once

CURVE = ec.SECP256R1()
RECORD_SIZE = 4096
LARGEST = 3000
"""Bytes of a message: push services take 4096 with everything around it."""
TIMEOUT_SECONDS = 15.0
KEPT_SECONDS = 86_400
"""How long a push service keeps a message for a browser that is off."""
SIGNED_FOR = 12 * 3600


class BadSubscription(ValueError):
    """What a browser gave as its keys is none."""


@dataclass(frozen=True, slots=True)
class Target:
    """A browser that takes push messages: where, and with which keys."""

    endpoint: str
    public_key: str
    auth: str


def to_text(data: bytes) -> str:
    """Write bytes as browsers exchange them: base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def to_bytes(text: str) -> bytes:
    """Read them; raises ValueError."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def _derive(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(secret)


def encrypt(
    target: Target, message: bytes, *, salt: bytes | None = None, own: ec.EllipticCurvePrivateKey | None = None
) -> bytes:
    """Encrypt a message for one browser; `salt` and the `own` key are new for each one, but in tests."""
    salt, own = salt or os.urandom(16), own or ec.generate_private_key(CURVE)
    theirs, auth = read_target(target)
    sender, receiver = _point(own.public_key()), _point(theirs)
    shared = own.exchange(ec.ECDH(), theirs)
    material = _derive(shared, auth, b"WebPush: info\0" + receiver + sender, 32)
    key = _derive(material, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive(material, salt, b"Content-Encoding: nonce\0", 12)
    head = salt + RECORD_SIZE.to_bytes(4, "big") + bytes([len(sender)]) + sender
    return head + AESGCM(key).encrypt(nonce, message + b"\x02", None)


def read_target(target: Target) -> tuple[ec.EllipticCurvePublicKey, bytes]:
    """Return the keys of a browser, or raise BadSubscription."""
    try:
        key = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, to_bytes(target.public_key))
        auth = to_bytes(target.auth)
    except ValueError as error:
        raise BadSubscription("These are no keys of a browser.") from error
    if len(auth) != 16:
        raise BadSubscription("These are no keys of a browser.")
    return key, auth


def public_key() -> str:
    """Return this server's public key, as browsers want it to subscribe."""
    return to_text(_point(_own_key(conf.push_key).public_key()))


@lru_cache(maxsize=4)
def _own_key(file: str) -> ec.EllipticCurvePrivateKey:
    """Read the key of this server, made where there is none."""
    path = Path(file)
    if not path.exists():
        made = ec.generate_private_key(CURVE).private_numbers().private_value
        make_once(path, to_text(made.to_bytes(32, "big")))
    return ec.derive_private_key(int.from_bytes(to_bytes(path.read_text().strip()), "big"), CURVE)


def signed_by_us(endpoint: str, contact: str, now: float) -> str:
    """Return the header that says who sends, signed for one push service and for half a day."""
    parts = urlsplit(endpoint)
    claims = {"aud": f"{parts.scheme}://{parts.netloc}", "exp": int(now) + SIGNED_FOR, "sub": contact}
    head = to_text(json.dumps({"typ": "JWT", "alg": "ES256"}).encode())
    text = f"{head}.{to_text(json.dumps(claims).encode())}"
    first, second = decode_dss_signature(_own_key(conf.push_key).sign(text.encode(), ec.ECDSA(SHA256())))
    signature = to_text(first.to_bytes(32, "big") + second.to_bytes(32, "big"))
    return f"vapid t={text}.{signature}, k={public_key()}"


def send_push(target: Target, message: bytes, *, key: str, contact: str) -> CallResult:
    """Send one message to one browser; 404 and 410 say that it takes none any more."""
    try:
        body = encrypt(target, message[:LARGEST])
    except BadSubscription as error:
        return Failed("definition", "bad_request", str(error))
    request = {
        "method": "POST",
        "url": target.endpoint,
        "headers": {
            "content-type": "application/octet-stream",
            "content-encoding": "aes128gcm",
            "ttl": str(KEPT_SECONDS),
            "authorization": signed_by_us(target.endpoint, contact, time.time()),
        },
        "body": body,
    }
    return send_http(Call(request, key, TIMEOUT_SECONDS, None, redirects=False))
