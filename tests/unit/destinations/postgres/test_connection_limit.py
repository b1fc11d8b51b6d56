"""All clients of a destination together have a limited number of connections."""

from __future__ import annotations

import threading

from penstock.destinations.postgres.connection import ConnectionLimit


def test_a_job_gets_the_free_connections_and_returns_them() -> None:
    limit = ConnectionLimit(4)

    with limit.acquire() as first, limit.acquire(10) as others:
        granted = (first, others)
    with limit.acquire(10) as again:
        assert (granted, again) == ((1, 3), 4)


def test_a_job_waits_until_a_connection_is_free() -> None:
    limit = ConnectionLimit(1)
    used = threading.Event()

    def use() -> None:
        with limit.acquire():
            used.set()

    with limit.acquire():
        waiting = threading.Thread(target=use)
        waiting.start()
        was_used = used.wait(0.05)
    waiting.join(10)

    assert (was_used, used.is_set()) == (False, True)
