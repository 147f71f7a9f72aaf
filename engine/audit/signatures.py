"""Sign what leaves the platform, roots and exports: Ed25519, so that others can verify and cannot sign.

The key is in a file of the server, never in the database.
"""

import base64
from functools import lru_cache
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from engine.conf import conf
from workflowplatform.servers.secret_key import make_once


class UnusableKey(Exception):
    """The signing key cannot be read or made."""


def sign(text: bytes) -> str:
    """Return our signature of a text, in base64."""
    return base64.b64encode(_signing_key(_key_file()).sign(text)).decode()


def is_signature_of(signature: str, text: bytes, public_key: str) -> bool:
    """Return whether the owner of a public key signed this text."""
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
        key.verify(base64.b64decode(signature, validate=True), text)
    except (InvalidSignature, ValueError):
        return False
    return True


def public_key() -> str:
    """Return our public key: 32 bytes in base64."""
    return _raw(_signing_key(_key_file()).public_key())


def public_key_if_made() -> str | None:
    """Return our public key, or None on a host that has none: verifying makes no key."""
    return public_key() if _key_file().exists() else None


def public_key_pem() -> str:
    """Return our public key as a file that openssl reads."""
    key = _signing_key(_key_file()).public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_bytes(serialization.Encoding.PEM, form).decode()


def read_public_key(file: Path) -> str:
    """Read another's public key from a PEM file, as `public_key` writes ours."""
    try:
        key = serialization.load_pem_public_key(file.read_bytes())
    except (OSError, ValueError) as error:
        raise UnusableKey(f"{file} holds no public key: {error}") from error
    if not isinstance(key, Ed25519PublicKey):
        raise UnusableKey(f"{file} holds no Ed25519 key.")
    return _raw(key)


def _raw(key: Ed25519PublicKey) -> str:
    return base64.b64encode(key.public_bytes_raw()).decode()


def _key_file() -> Path:
    return Path(conf.audit_signing_key)


@lru_cache(maxsize=4)
def _signing_key(file: Path) -> Ed25519PrivateKey:
    try:
        if not file.exists():
            make_once(file, _new_key())
        key = serialization.load_pem_private_key(file.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise UnusableKey(f"The audit's signing key {file} cannot be used: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise UnusableKey(f"The audit's signing key {file} is no Ed25519 key.")
    return key


def _new_key() -> str:
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return Ed25519PrivateKey.generate().private_bytes(serialization.Encoding.PEM, form, plain).decode()
