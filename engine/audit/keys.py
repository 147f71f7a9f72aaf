"""Keys of the audit, none of them in the database.

One hashes rows and seals records: HMAC-SHA256, so that write access to every table is not enough to make a hash. It comes from
WORKFLOW_AUDIT_KEY, or from SECRET_KEY where that is unset; a hash names its key, so that keys can be replaced and old rows stay
verifiable. The other signs what leaves the platform, roots and exports: Ed25519, so that others can verify and cannot sign.
"""

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from engine.conf import conf
from workflowplatform.servers.secret_key import make_once

MARK = "k"
"""How a keyed hash begins, which no digit of a plain one does."""
ID_LENGTH = 7
HASH_LENGTH = 64
"""As long as a plain SHA-256: 224 bits of the MAC behind the key's name."""
BLOCK = 64


class UnusableKey(Exception):
    """The signing key cannot be read or made."""


class AuditKey:
    """A key with HMAC's two first blocks hashed already: a start writes a dozen rows."""

    __slots__ = ("_inner", "_outer", "id", "mark")

    def __init__(self, secret: bytes) -> None:
        padded = secret.ljust(BLOCK, b"\0")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))
        self.id = hashlib.sha256(b"workflow audit key id\n" + secret).hexdigest()[:ID_LENGTH]
        self.mark = MARK + self.id

    def mac(self, text: bytes) -> str:
        """Return the keyed hash of a text, with the key's name in front."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(text)
        outer.update(inner.digest())
        return (self.mark + outer.hexdigest())[:HASH_LENGTH]


@dataclass(frozen=True, slots=True)
class Keyring:
    """The key in use, and all whose hashes are still believed."""

    current: AuditKey
    known: dict[str, AuditKey]

    def key_of(self, made: str) -> AuditKey | None:
        """Return the key that a keyed hash names, if it is known here."""
        return self.known.get(made[len(MARK) : len(MARK) + ID_LENGTH]) if is_keyed(made) else None


def is_keyed(made: str) -> bool:
    """Return whether a hash was made with a key."""
    return made.startswith(MARK)


def keyring() -> Keyring:
    """Return the keys that the settings name."""
    return _keyring(conf.audit_keys, settings.SECRET_KEY, tuple(settings.SECRET_KEY_FALLBACKS))


@lru_cache(maxsize=8)
def _keyring(given: tuple[str, ...], secret: str, fallbacks: tuple[str, ...]) -> Keyring:
    keys = [AuditKey(_derived(text)) for text in (*given, secret, *fallbacks)]
    return Keyring(keys[0], {key.id: key for key in reversed(keys)})


def _derived(text: str) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"workflow audit hmac").derive(text.encode())


def seal(kind: str, facts: Iterable[Any]) -> str:
    """Return the seal of a record that is not part of a chain; `kind` keeps seals of one kind from passing for another's."""
    return keyring().current.mac(_sealed_text(kind, facts))


def is_seal_of(made: str, kind: str, facts: Iterable[Any]) -> bool:
    """Return whether a known key made this seal for these facts."""
    key = keyring().key_of(made)
    return key is not None and key.mac(_sealed_text(kind, facts)) == made


def _sealed_text(kind: str, facts: Iterable[Any]) -> bytes:
    return "\n".join((f"seal of {kind}", *map(str, facts))).encode()


# Signatures


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
