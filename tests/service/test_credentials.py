"""The password of a database and the keys of a bucket are written and shown nowhere.

Classic, with tables and packages in the bucket; and over Spark Connect, with tables on a disk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.conftest import AT_LENGTH, EXTENSIONS, class_path
from tests.service.bucket import keys
from tests.service.postgres import URL, execute, new_schema

from penstock.package import FileStorage

if TYPE_CHECKING:
    from pathlib import Path

PASSWORD = 'it\'s "a" $ec\\ret${x}'
# Everything that a user can see: full logs, errors, plans, and printed destinations and settings.
PROGRAM = """
import logging, sys, traceback
import penstock
from penstock.sources.sql_database import sql_database, sql_table

logging.basicConfig(level="INFO")
logging.getLogger("penstock").setLevel(logging.DEBUG)
schema, folder, lake, broken, length = sys.argv[1:]
destination = penstock.destinations.delta(lake)
pipeline = penstock.pipeline("shop", pipelines_dir=folder, destination=destination, dataset_name="shop")
rows = [{"id": 1, "tags": ["a"]}, {"id": 2, "tags": []}]
merged = penstock.resource(rows, name="items", write_disposition="merge", primary_key="id")
print(pipeline.run([sql_database(schema=schema, table_names=["orders"]), merged]))
orders = pipeline.dataset()["orders"].spark()
orders.explain(True)
print(pipeline.dataset()("SELECT id, name FROM orders").fetchall())
tables = [sql_table(broken, "orders", schema=schema)]
if length == "at length":
    tables.append(sql_table(table="nowhere", schema=schema))
    tables.append(sql_table(table="broken", query="SELECT nothing FROM nowhere"))
    print(pipeline.run(penstock.resource(orders.sparkSession.range(3).toDF("id"), name="numbers")))
for table in tables:
    try:
        pipeline.run(table)
    except penstock.errors.PenstockError:
        traceback.print_exc()
print(destination, pipeline, penstock.config.explain("destination.delta.credentials.aws_secret_access_key"))
print("all runs are over")
"""


def toml(table: str, values: dict[str, Any]) -> str:
    lines = "\n".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in values.items())
    return f"[{table}]\n{lines}\n"


@pytest.mark.parametrize("mode", ["classic", pytest.param("connect", marks=pytest.mark.at_length)])
def test_no_password_or_key_is_written_or_shown(mode: str, location: str, tmp_path: Path) -> None:
    settings, events, folder = tmp_path / "work" / ".penstock", tmp_path / "events", tmp_path / "pipelines"
    settings.mkdir(parents=True)
    events.mkdir()
    lake = location if mode == "classic" else str(tmp_path / "lake")
    server = psycopg.conninfo.conninfo_to_dict(URL)
    database = {
        "drivername": "postgresql",
        "host": server["host"],
        "port": int(str(server["port"])),
        "database": server["dbname"],
        "username": "keeper",
        "password": PASSWORD,
    }
    bucket = {
        "aws_access_key_id": os.environ["PENSTOCK_TEST_S3_KEY"],
        "aws_secret_access_key": os.environ["PENSTOCK_TEST_S3_SECRET"],
        "endpoint_url": os.environ["PENSTOCK_TEST_S3_ENDPOINT"],
        "conditional_writes": True,
    }
    (settings / "secrets.toml").write_text(
        toml("sources.sql_database.credentials", database) + toml("destination.delta.credentials", bucket)
    )
    (settings / "secrets.toml").chmod(0o600)
    jars = class_path("delta", "postgres", "s3")
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    environment = {**os.environ, "SPARK__JARS": jars, "PENSTOCK_HOME": str(tmp_path / "home")}
    if mode == "connect":
        # A server on this machine gets these at its start, and nothing from its clients.
        conf |= {"spark.driver.extraClassPath": jars, "spark.sql.extensions": EXTENSIONS["delta"]}
        defaults = "\n".join(f"{name} {value}" for name, value in conf.items())
        (tmp_path / "spark-defaults.conf").write_text(defaults)
        (settings / "config.toml").write_text('[spark]\nremote = "local[2]"\n')
        environment["SPARK_CONF_DIR"] = str(tmp_path)
    else:
        (settings / "config.toml").write_text(toml("spark.conf", conf))
    length = "at length" if AT_LENGTH else "in CI"
    broken = f"postgresql://keeper:wrong-{mode}-word@{server['host']}:{server['port']}/nowhere"

    with new_schema() as schema:
        execute(f"CREATE ROLE keeper LOGIN PASSWORD '{PASSWORD.replace(chr(39), chr(39) * 2)}'")
        try:
            execute(f"CREATE TABLE {schema}.orders (id int PRIMARY KEY, name text)")
            execute(f"INSERT INTO {schema}.orders VALUES (1, 'tea')")
            execute(f"GRANT ALL ON SCHEMA {schema} TO keeper; GRANT ALL ON {schema}.orders TO keeper")
            process = subprocess.run(
                [sys.executable, "-c", PROGRAM, schema, str(folder), lake, broken, length],
                check=False,
                capture_output=True,
                env=environment,
                cwd=tmp_path / "work",
                timeout=600,
            )
        finally:
            execute("DROP OWNED BY keeper; DROP ROLE keeper")

    shown = process.stdout + process.stderr
    lines = [line for line in shown.decode().splitlines() if not line.startswith("\tat ")]
    assert b"[(1, 'tea')]" in process.stdout, "\n".join(lines)
    assert b"all runs are over" in process.stdout, "\n".join(lines)
    places = {"shown": shown} | {
        str(path.relative_to(tmp_path)): path.read_bytes()
        for place in ("pipelines", "events", "home", "lake")
        for path in (tmp_path / place).rglob("*")
        if path.is_file() and path.suffix != ".jar"
    }
    stored = FileStorage(location, credentials=keys()).file_system
    places |= {name: stored.cat_file(name) for name in stored.find(location)}
    logged = [text for name, text in places.items() if name.startswith("events/")]
    assert any(b"orders" in text for text in logged)
    assert mode == "connect" or any(b".secret.key" in text for text in logged)
    forms = [
        os.environ["PENSTOCK_TEST_S3_SECRET"],
        PASSWORD,
        json.dumps(PASSWORD)[1:-1],
        repr(PASSWORD)[1:-1],
        PASSWORD.replace("'", "\\'"),
        PASSWORD.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024"),
        f"wrong-{mode}-word",
    ]
    for form in forms:
        assert [name for name, text in places.items() if form.encode() in text] == [], form
