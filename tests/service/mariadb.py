"""Tables in the MariaDB that `dev.parts up mariadb` starts, in a separate database."""

from __future__ import annotations

import os
import subprocess
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.conftest import OPTIONAL_JARS

if TYPE_CHECKING:
    from collections.abc import Iterator

URL = os.environ.get("PENSTOCK_TEST_MARIADB", "")
DRIVERS = [group for group in OPTIONAL_JARS if group in ("mariadb", "mysql")]
"""The drivers whose jars are present: that of MySQL connects to MariaDB too."""


@contextmanager
def new_database() -> Iterator[str]:
    """Create a database for the duration of a block."""
    name = f"shop_{uuid.uuid4().hex[:8]}"
    execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    try:
        yield name
    finally:
        execute(f"DROP DATABASE {name}")


def execute(statements: str, database: str = "penstock") -> str:
    """Run statements in a database; return their output, one row a line."""
    place = urlsplit(URL)
    command = ["mariadb", "--no-defaults", "-h", str(place.hostname), "-P", str(place.port)]
    done = subprocess.run(
        [*command, "-u", str(place.username), "-N", "--default-character-set=utf8mb4", database],
        input=statements,
        env={**os.environ, "MYSQL_PWD": str(place.password)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def url(driver: str, database: str) -> str:
    """Return the address of a database, for one of the drivers."""
    return f"{driver}:{URL.split(':', 1)[1].rsplit('/', 1)[0]}/{database}"
