"""The backend that settings name: Django's own, which settles what the short way has sent before it does anything else."""

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import psycopg
from django.db import Error
from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base
from django.db.utils import DatabaseErrorWrapper
from django.utils.functional import cached_property

from workflowplatform.database import tenancy, tenant_setting
from workflowplatform.database.error_causes import is_servers_own
from workflowplatform.database.hot import Hot, Rows, Values, way_of
from workflowplatform.database.pool import Driver, Pool


class _Noticing(DatabaseErrorWrapper):
    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if isinstance(exc_value, psycopg.Error) and is_servers_own(exc_value):
            self.wrapper._is_doubted = True  # type: ignore[attr-defined]
        super().__exit__(exc_type, exc_value, traceback)  # type: ignore[no-untyped-call]


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection with two ways: cursors for everybody, `run_hot` and `send_hot` for the hot path."""

    _hot: Hot | None = None
    _lent_by: Pool | None = None
    """Whose connection this is, and to whom it goes back; None: this thread's own."""
    _is_doubted = False
    """Whether the server behind it could not serve: the next connection may find one that can."""

    @cached_property
    def wrap_database_errors(self) -> Any:
        """Turn the driver's errors into Django's, and notice those of the server as a whole."""
        return _Noticing(self)

    def run_hot(self, statement: str, values: Values, *, prepare: bool) -> Rows:
        """Run a statement inside the current transaction and return its rows."""
        with self.wrap_database_errors:
            return self._way().run(statement, values, prepare=prepare)

    def run_hot_together(self, asked: Sequence[tuple[str, Values]], *, prepare: bool) -> list[Rows]:
        """Run statements that do not need each other's rows; return the rows of each."""
        with self.wrap_database_errors:
            return self._way().run_together(asked, prepare=prepare)

    def send_hot(self, statement: str, values: Values, *, prepare: bool) -> None:
        """Send a statement without waiting for it: what it raises comes up at the next statement or at the commit."""
        with self.wrap_database_errors:
            self._way().send(statement, values, prepare=prepare)

    def _way(self) -> Hot:
        self.ensure_connection()
        if tenant_setting.teller_of(self.connection):
            tenancy.wanted()  # who asks is found out by statements of its own, before anything is sent
        self._hot = way_of(self.connection)
        return self._hot

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
            return super()._commit()  # type: ignore[misc]
        with self.wrap_database_errors:
            return self._hot.commit()

    def _rollback(self) -> None:
        self._settle_quietly()
        super()._rollback()  # type: ignore[misc]

    def _savepoint_rollback(self, sid: str) -> None:
        self._settle_quietly()
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
        except BaseException:
            driver.close()
            raise
        return driver

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self._lent_by, self._is_doubted = self.pool, False
        driver = super().get_new_connection(conn_params)
        if self._lent_by is None and self.alias != NO_DB_ALIAS:
            tenant_setting.introduce(driver)
        return driver

    def get_connection_params(self) -> dict[str, Any]:
        return {**super().get_connection_params(), "cursor_factory": tenant_setting.Cursor}
