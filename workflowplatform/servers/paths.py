"""Name the places a running product keeps its things in.

Data lives in one folder (``var/`` unless told otherwise). Sockets live elsewhere: a unix socket's path may hold 107
bytes at most, and a clone may be deeper than that, so each start makes a short private folder under the temporary
one and records it.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from workflowplatform.servers.errors import CannotStart

PROJECT = Path(__file__).resolve().parents[2]
LONGEST_SOCKET_PATH = 107
LONGEST_SOCKET_NAME = len(".s.PGSQL.5432.lock")
UNPRIVILEGED = "nobody"
ELSEWHERE = Path("/var/lib/workflow-platform")


@dataclass(frozen=True, slots=True)
class DataFolder:
    """Know every place below one data folder by name."""

    root: Path

    @property
    def lock(self) -> Path:
        """Name the file whose lock says that a product runs on this folder."""
        return self.root / "up.lock"

    @property
    def record(self) -> Path:
        """Name the file that says how to reach what runs."""
        return self.root / "running.json"

    @property
    def secret_key(self) -> Path:
        """Name the file that keeps SECRET_KEY."""
        return self.root / "secret_key"

    @property
    def logs(self) -> Path:
        """Name the folder of the servers' logs."""
        return self.root / "log"

    def prepare(self) -> None:
        """Make the folder, or say why that is impossible."""
        try:
            self.logs.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.root, prefix=".write-"):
                pass
        except OSError as error:
            raise CannotStart(
                f"The data folder {self.root} cannot be written ({error.strerror}): "
                "make it writable for you, or name another one with --data DIR."
            ) from error

    def server_home(self) -> Path:
        """Name the folder whose contents the unprivileged servers own; it outlives restarts and a move of the clone."""
        link = self.root / "servers"
        if link.is_symlink():
            return link.readlink()
        if not runs_as_root() or others_may_enter(self.root):
            return self.root
        if (self.root / "postgres").exists():
            raise CannotStart(
                f"The account {UNPRIVILEGED}, which runs the servers for root, cannot enter {self.root}: "
                "give others the right to pass through its folders (chmod o+x)."
            )
        return self._home_elsewhere(link)

    def _home_elsewhere(self, link: Path) -> Path:
        """Choose a home outside a folder that is closed to the servers, and leave a link to it."""
        digest = hashlib.sha256(os.fsencode(self.root.resolve())).hexdigest()[:12]
        home = ELSEWHERE / digest
        home.mkdir(parents=True, exist_ok=True)
        link.symlink_to(home)
        return home


def data_folder(chosen: str | Path | None = None) -> DataFolder:
    """Take the folder asked for, else WORKFLOW_DATA, else ``var/`` next to manage.py."""
    return DataFolder(Path(chosen or os.environ.get("WORKFLOW_DATA") or PROJECT / "var").absolute())


def runs_as_root() -> bool:
    """Return whether servers have to drop rights, because PostgreSQL refuses to run as root."""
    return os.geteuid() == 0


def server_account() -> pwd.struct_passwd | None:
    """Name the account the servers run as, or None to keep one's own."""
    return pwd.getpwnam(UNPRIVILEGED) if runs_as_root() else None


def others_may_enter(folder: Path) -> bool:
    """Return whether an unprivileged account can walk down to this folder."""
    resolved = folder.resolve()
    return all(place.stat().st_mode & 0o001 for place in (resolved, *resolved.parents) if place.exists())


def make_private_folder(folder: Path) -> Path:
    """Make a folder that only the servers' account (and root) can enter."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    account = server_account()
    if account:
        os.chown(folder, account.pw_uid, account.pw_gid)
    return folder


def make_socket_folder() -> Path:
    """Make a private folder whose path is short enough for a unix socket."""
    for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp"):  # nosec B108 # noqa: S108 - the short ones every unix has
        if len(os.fsencode(parent)) + LONGEST_SOCKET_NAME + 16 <= LONGEST_SOCKET_PATH and _usable(Path(parent)):
            return make_private_folder(Path(tempfile.mkdtemp(prefix="wf-", dir=parent)))
    raise CannotStart("No temporary folder is both short and writable: set TMPDIR to one (at most 70 characters).")


def _usable(parent: Path) -> bool:
    writable = parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)
    return writable and (not runs_as_root() or others_may_enter(parent))


def remove_socket_folder(folder: Path) -> None:
    """Remove a socket folder of ours, and never anything else."""
    if folder.name.startswith("wf-"):
        shutil.rmtree(folder, ignore_errors=True)
