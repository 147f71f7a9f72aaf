"""Make SECRET_KEY once and keep it in the data folder, so that sessions and secrets survive a restart."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from workflowplatform.servers.errors import CannotStart
from workflowplatform.servers.paths import DataFolder


def kept_secret_key(data_dir: Path) -> str:
    """Read the key of this data folder, making it when there is none."""
    file = DataFolder(data_dir).secret_key
    try:
        if not file.exists():
            make_once(file, secrets.token_urlsafe(50))
        return file.read_text().strip()
    except OSError as error:
        raise CannotStart(
            f"SECRET_KEY cannot be kept in {file} ({error.strerror}): "
            f"make {file.parent} writable for you, or set SECRET_KEY."
        ) from error


def make_once(file: Path, text: str) -> None:
    """Write a key aside and link it into place: of two makers, one wins and both read the same."""
    file.parent.mkdir(parents=True, exist_ok=True)
    half = file.with_name(f"{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
        handle.write(text)
    try:
        os.link(half, file)
    except FileExistsError:
        pass
    finally:
        half.unlink()
