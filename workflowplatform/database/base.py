"""The backend that settings name: Django's own, which settles what the short way has sent before it does anything else."""

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, cast

import psycopg
from django.db import Error
from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base
from django.db.utils import DatabaseErrorWrapper
from django.utils.functional import cached_property
from psycopg.pq import TransactionStatus

from workflowplatform.database import tenancy, tenant_setting
from workflowplatform.database.error_causes import is_servers_own
from workflowplatform.database.hot import Hot, Rows, Values, way_of
from workflowplatform.database.pool import Driver, Pool
from workflowplatform.database.stored_json import JsonLoader

Way = Literal["prepared", "unprepared", "plain"]
"""How a hot statement travels: the short way, where the server keeps its plan or does not, or over Django's cursors."""


class _Noticing(DatabaseErrorWrapper):
    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if isinstance(exc_value, psycopg.Error) and is_servers_own(exc_value):
            self.wrapper._is_doubted = True  # type: ignore[attr-defined]
        super().__exit__(exc_type, exc_value, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection with two ways: cursors for everybody, `run_hot` and `send_hot` for the hot path."""

    _hot: Hot | None = None
    _lent_by: Pool | None = None
    """The pool that lent this connection, and gets it back; None: this thread's own connection."""
    _is_doubted = False
    """Whether the server behind it could not serve: the next connection may find one that can."""

    @cached_property
    def wrap_database_errors(self) -> Any:
        """Turn the driver's errors into Django's, and notice those of the server as a whole."""
        return _Noticing(self)

    def run_hot(self, statement: str, values: Values, *, way: Way) -> Rows:
        """Run a statement inside the current transaction and return its rows."""
        if self._is_plain(way):
            return self._run_plain(statement, values)
        with self.wrap_database_errors:
            return self._short_way().run(statement, values, prepare=way == "prepared")

    def run_hot_together(self, asked: Sequence[tuple[str, Values]], *, way: Way) -> list[Rows]:
        """Run statements that do not need each other's rows; return the rows of each."""
        if self._is_plain(way):
            return [self._run_plain(statement, values) for statement, values in asked]
        with self.wrap_database_errors:
            return self._short_way().run_together(asked, prepare=way == "prepared")

    def send_hot(self, statement: str, values: Values, *, way: Way) -> None:
        """Send a statement without waiting for it: what it raises comes up at the next statement or at the commit."""
        if self._is_plain(way):
            self._run_plain(statement, values)
            return
        with self.wrap_database_errors:
            self._short_way().send(statement, values, prepare=way == "prepared")

    def _is_plain(self, way: Way) -> bool:
        """Return whether a statement goes over Django's cursors: where asked, and where code wraps every statement."""
        return way == "plain" or bool(self.execute_wrappers)

    def _run_plain(self, statement: str, values: Values) -> Rows:
        """Run a statement over Django's own cursor; what it raises comes up at once."""
        with self.cursor() as cursor:
            cursor.execute(statement, values)
            return cast(Rows, cursor.fetchall()) if cursor.description else []

    def _short_way(self) -> Hot:
        self.ensure_connection()
        if tenant_setting.teller_of(self.connection):
            tenancy.wanted()  # who asks is found out by statements of its own, before anything is sent
        self._hot = way_of(self.connection)
        return self._hot

    def _set_autocommit(self, autocommit: bool) -> None:
        """Do as the driver does, without its machinery for an answer: between transactions nothing is sent for it."""
        driver = self.connection
        if driver is not None and driver.pgconn.transaction_status == TransactionStatus.IDLE:
            driver._autocommit = autocommit
        else:
            super()._set_autocommit(autocommit)  # type: ignore[misc]

    def settle(self) -> None:
        """Wait for what was sent."""
        if self._hot is not None and not self._hot.is_settled:
            with self.wrap_database_errors:
                self._hot.settle()

    def _settle_quietly(self) -> None:
        """Settle what is about to be thrown away."""
        with contextlib.suppress(Error):
            self.settle()

    def create_cursor(self, name: str | None = None) -> Any:
        self.settle()
        cursor = super().create_cursor(name)
        if name:
            cursor.__class__ = tenant_setting.ServerSideCursor  # Django names no place for a cursor of ours here
        return cursor

    def _commit(self) -> None:
        if self.connection is None or self._hot is None or self._hot.is_settled:
            self._forget_planning()
            super()._commit()  # type: ignore[misc]
            return
        with self.wrap_database_errors:
            self._hot.commit()

    def _forget_planning(self) -> None:
        """Have the next hot statement say again how to plan: a setting ends with its transaction or savepoint."""
        if self._hot is not None:
            self._hot.plans_by_index = False

    def _rollback(self) -> None:
        self._settle_quietly()
        self._forget_planning()
        super()._rollback()  # type: ignore[misc]

    def _savepoint_rollback(self, sid: str) -> None:
        self._settle_quietly()
        self._forget_planning()
        super()._savepoint_rollback(sid)  # type: ignore[misc]
        if self.connection is not None and (teller := tenant_setting.teller_of(self.connection)):
            teller.told = None

    def _close(self) -> None:
        self._settle_quietly()
        self._hot = None
        lender, self._lent_by = self._lent_by, None
        if self.connection is None:
            return
        with self.wrap_database_errors:
            if lender is None:
                self.connection.close()
            else:
                driver, self.connection = self.connection, None
                if self._is_doubted:
                    driver.close()
                lender.putconn(driver)

    # The web's connections

    @property
    def pool(self) -> Pool | None:
        """Return the pool of this process where the settings ask for one."""
        wanted = self.settings_dict["OPTIONS"].get("pool")
        if self.alias == NO_DB_ALIAS or not wanted:
            return None
        pools: dict[str, Pool] = self._connection_pools  # type: ignore[attr-defined]
        if self.alias not in pools:
            params = {**self.get_connection_params(), "autocommit": True}
            pools.setdefault(self.alias, Pool(partial(self._open, params), **wanted))
        return pools[self.alias]

    def _open(self, params: dict[str, Any]) -> Driver:
        driver: Driver = psycopg.connect(**params)
        try:
            self._configure_connection(driver)  # type: ignore[attr-defined]
            tenant_setting.introduce(driver)
            driver.adapters.register_loader("json", JsonLoader)
        except BaseException:
            driver.close()
            raise
        return driver

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self._lent_by, self._is_doubted = self.pool, False
        driver = super().get_new_connection(conn_params)
        if self._lent_by is None and self.alias != NO_DB_ALIAS:
            tenant_setting.introduce(driver)
            driver.adapters.register_loader("json", JsonLoader)
        return driver

    def get_connection_params(self) -> dict[str, Any]:
        return {**super().get_connection_params(), "cursor_factory": tenant_setting.Cursor}
