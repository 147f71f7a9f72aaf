"""Encrypt what must not be read back, with a key derived from SECRET_KEY."""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

from engine.kernel.expressions.secret_marks import SecretValue
from engine.models import Secret


class UnreadableSecret(Exception):
    """A secret was written under another SECRET_KEY, or there is none of that name any more."""


def _fernet() -> Fernet:
    key = hashlib.sha256(b"workflow secrets\n" + settings.SECRET_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(key))


def encrypt(value: str) -> bytes:
    """Return what is stored for a value."""
    return _fernet().encrypt(value.encode())


def decrypt(ciphertext: bytes) -> str:
    """Return the stored value in plain text, only for sending or signing with it."""
    try:
        return _fernet().decrypt(ciphertext).decode()
    except InvalidToken as error:
        raise UnreadableSecret(
            "A secret cannot be decrypted because SECRET_KEY was changed. Enter it again."
        ) from error


def secrets_for_call(tenant_id: UUID, names: Iterable[str]) -> Mapping[str, SecretValue]:
    """Return what one call of a tenant needs; only the transport sees the values."""
    wanted = list(names)
    if not wanted:
        return {}
    found = Secret.objects.filter(tenant_id=tenant_id, name__in=wanted)
    secrets = {one.name: SecretValue(decrypt(bytes(one.ciphertext)), tuple(one.origins)) for one in found}
    if missing := sorted(set(wanted) - secrets.keys()):
        raise UnreadableSecret(f"There is no secret named {missing[0]} any more. Create it again.")
    return secrets
