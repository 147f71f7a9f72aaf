"""Put a pgbouncer in transaction mode between a test run and its PostgreSQL: every transaction may meet another session."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import psycopg

from workflowplatform.servers import database_url, paths
from workflowplatform.servers.postgres import APPLICATION, ROLE, SUPERUSER
from workflowplatform.servers.processes import ProcessGroup

INSTALL_SECONDS = 300
START_SECONDS = 30.0
POOLED = {"WORKFLOW_POOLED": "1", "WORKFLOW_PREPARE": "0"}
"""What the product is told: Debian's pgbouncer is older than 1.21 and knows no prepared statements."""

CONFIGURATION = """
[databases]
* = host={server}
[pgbouncer]
pool_mode = transaction
listen_port = 5432
unix_socket_dir = {folder}
unix_socket_mode = 0700
auth_type = trust
auth_file = {folder}/people
max_client_conn = 300
default_pool_size = 60
ignore_startup_parameters = extra_float_digits
"""


def find_pgbouncer() -> str | None:
    """Answer where pgbouncer is; Debian keeps it off the PATH of most."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


def find_or_install_pgbouncer() -> str | None:
    """Find it, after installing it where root has apt-get; None where that is not possible."""
    if not find_pgbouncer() and os.geteuid() == 0 and shutil.which("apt-get"):
        _install()
    return find_pgbouncer()


def _install() -> None:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    words = ["install", "--yes", "--no-install-recommends", "pgbouncer"]
    try:
        subprocess.run(
            ["apt-get", "-qq", *words], env=environment, capture_output=True, timeout=INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return


def start_pooler(group: ProcessGroup, *, data: paths.DataFolder, server: str, name: str) -> str:
    """Start it before the PostgreSQL whose socket is in that folder; return the address of a database behind it."""
    program = find_pgbouncer()
    assert program is not None
    folder = group.keep_folder(paths.make_socket_folder())
    (folder / "people").write_text(f'"{ROLE}" ""\n"{APPLICATION}" ""\n')
    (folder / "pgbouncer.ini").write_text(CONFIGURATION.format(server=server, folder=folder))
    _admit_pooler(data, server)
    log = data.logs / "pgbouncer.log"
    group.start("pgbouncer", [program, "-q", folder / "pgbouncer.ini"], log=log, unprivileged=True, folder=folder)
    address = database_url.socket_url(user=ROLE, name=name, folder=str(folder))
    _await_answer(address)
    return address


def _admit_pooler(data: paths.DataFolder, server: str) -> None:
    """Let the account that servers run as connect too: pgbouncer refuses to be root."""
    account = paths.server_account()
    if account is None:
        return
    people = data.server_home() / "postgres" / "pg_ident.conf"
    line = "".join(f'owner "{account.pw_name}" {role}\n' for role in (ROLE, APPLICATION))
    if line not in people.read_text():
        with people.open("a") as file:
            file.write(line)
    with psycopg.connect(host=server, user=SUPERUSER, dbname="postgres", autocommit=True) as connection:
        connection.execute("SELECT pg_reload_conf()")


def _await_answer(address: str) -> None:
    give_up = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(address, connect_timeout=5).close()
        except psycopg.OperationalError:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.05)
        else:
            return


def socket_folder(address: str) -> str:
    """Read the folder of a server's socket from its address."""
    return Path(database_url.from_url(address)["HOST"]).as_posix()
