"""A connection that the network drops is tried again, and then refused with a transient error."""

from __future__ import annotations

import socket
import threading

import pytest

from penstock.destinations.postgres.connection import ConnectionLimit, PostgresDatabase
from penstock.destinations.postgres.reference import POSTGRES
from penstock.destinations.postgres.settings import PostgresConfiguration, PostgresCredentials
from penstock.destinations.postgres.types import PostgresTypeMapper
from penstock.destinations.sql.dialect import SqlDialect
from penstock.errors import DestinationTransientException


def test_a_dropped_connection_is_tried_three_times() -> None:
    attempts: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drop_connections() -> None:
            while len(attempts) < 3:
                connection, address = server.accept()
                attempts.append(address)
                connection.close()

        dropping = threading.Thread(target=drop_connections, daemon=True)
        dropping.start()
        port = server.getsockname()[1]
        login = PostgresCredentials(f"postgresql://ada:hush@127.0.0.1:{port}/shop?sslmode=disable")
        dialect = SqlDialect(name="postgres", types=PostgresTypeMapper(POSTGRES.capabilities()))
        database = PostgresDatabase(PostgresConfiguration(credentials=login), dialect, ConnectionLimit(2))

        with pytest.raises(DestinationTransientException), database.connect():
            pass
        dropping.join(10)

    assert len(attempts) == 3
