"""The password of a database is found in nothing that is written or shown, classic and over Spark Connect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.conftest import EXTENSIONS, class_path
from tests.service.postgres import URL, new_schema, tell

if TYPE_CHECKING:
    from pathlib import Path

SECRET = 'it\'s "a" $ec\\ret${x}'
PROGRAM = """
import logging, sys, traceback
import penstock
from penstock.sources.sql_database import sql_database, sql_table

logging.basicConfig(level="INFO")
schema, folder, broken = sys.argv[1:]
pipeline = penstock.pipeline(
    "shop",
    pipelines_dir=folder,
    destination=penstock.destinations.delta(folder + "/lake"),
    dataset_name="shop",
)
pipeline.run(sql_database(schema=schema, table_names=["orders"]))
print(pipeline.dataset()("SELECT id, name FROM orders").fetchall())
for table in (
    sql_table(table="nowhere", schema=schema),
    sql_table(table="broken", query="SELECT nothing FROM nowhere"),
    sql_table(broken, "orders", schema=schema),
):
    try:
        pipeline.run(table)
    except penstock.errors.PenstockError:
        traceback.print_exc()
print("all runs are over")
"""


@pytest.mark.parametrize("mode", [pytest.param("classic", marks=pytest.mark.at_length), "connect"])
def test_a_password_is_found_nowhere(mode: str, tmp_path: Path) -> None:
    settings, events, folder = tmp_path / "work" / ".penstock", tmp_path / "events", tmp_path / "pipelines"
    settings.mkdir(parents=True)
    events.mkdir()
    server = psycopg.conninfo.conninfo_to_dict(URL)
    told = {
        "drivername": "postgresql",
        "host": server["host"],
        "port": int(str(server["port"])),
        "database": server["dbname"],
        "username": "keeper",
        "password": SECRET,
    }
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in told.items())
    (settings / "secrets.toml").write_text(f"[sources.sql_database.credentials]\n{lines}\n")
    (settings / "secrets.toml").chmod(0o600)
    jars = class_path("delta", "postgres")
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    environment = {**os.environ, "SPARK__JARS": jars, "PENSTOCK_HOME": str(tmp_path / "home")}
    if mode == "connect":
        # A server on this machine, which is told these as it starts, and nothing by its clients.
        conf |= {"spark.driver.extraClassPath": jars, "spark.sql.extensions": EXTENSIONS["delta"]}
        said = "\n".join(f"{name} {value}" for name, value in conf.items())
        (tmp_path / "spark-defaults.conf").write_text(said)
        (settings / "config.toml").write_text('[spark]\nremote = "local[2]"\n')
        environment["SPARK_CONF_DIR"] = str(tmp_path)
    else:
        said = "\n".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in conf.items())
        (settings / "config.toml").write_text(f"[spark.conf]\n{said}\n")
    broken = f"postgresql://keeper:wrong-{mode}-word@{server['host']}:{server['port']}/nowhere"

    with new_schema() as schema:
        tell(f"CREATE ROLE keeper LOGIN PASSWORD '{SECRET.replace(chr(39), chr(39) * 2)}'")
        try:
            tell(f"CREATE TABLE {schema}.orders (id int PRIMARY KEY, name text)")
            tell(f"INSERT INTO {schema}.orders VALUES (1, 'tea')")
            tell(f"GRANT ALL ON SCHEMA {schema} TO keeper; GRANT ALL ON {schema}.orders TO keeper")
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM, schema, str(folder), broken],
                check=False,
                capture_output=True,
                env=environment,
                cwd=tmp_path / "work",
                timeout=600,
            )
        finally:
            tell("DROP OWNED BY keeper; DROP ROLE keeper")

    shown = done.stdout + done.stderr
    told_lines = [line for line in shown.decode().splitlines() if not line.startswith("\tat ")]
    assert b"[(1, 'tea')]" in done.stdout, "\n".join(told_lines)
    assert b"all runs are over" in done.stdout, "\n".join(told_lines)
    places = {"shown": shown} | {
        str(path.relative_to(tmp_path)): path.read_bytes()
        for place in ("pipelines", "events", "home")
        for path in (tmp_path / place).rglob("*")
        if path.is_file() and path.suffix != ".jar"
    }
    assert any(name.startswith("events/") and b"orders" in text for name, text in places.items())
    forms = [
        SECRET,
        json.dumps(SECRET)[1:-1],
        repr(SECRET)[1:-1],
        SECRET.replace("'", "\\'"),
        f"wrong-{mode}-word",
    ]
    forms.append(SECRET.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024"))
    for form in forms:
        assert [name for name, text in places.items() if form.encode() in text] == [], form
