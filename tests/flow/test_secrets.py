"""No secret of a user is written or shown anywhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.conftest import process_env

if TYPE_CHECKING:
    from pathlib import Path

IN_CONFIG, IN_ARGUMENT, IN_CONF = "canary-in-the-config-1f", "canary-in-an-argument-2e", "canary-in-a-conf-3d"
IN_EXTRA = "canary-for-executors-4c"
CANARIES = (IN_CONFIG, IN_ARGUMENT, IN_CONF, IN_EXTRA)

# The secrets reach the user's code as plain texts; it then fails with one of them in its message.
PROGRAM = """
import json, logging, sys
import penstock

logging.basicConfig(level=logging.INFO, stream=sys.stdout)
logging.getLogger("penstock").setLevel(logging.DEBUG)
seen = {}

@penstock.source
def shop(token: str = penstock.secrets.value, key: penstock.TSecretStrValue = penstock.secrets.value):
    seen.update(token=str(token), key=str(key))

    @penstock.resource
    def orders():
        yield {"id": 1, "tags": ["a"]}

    @penstock.resource
    def broken():
        yield {"id": 1}
        raise ConnectionError(f"GET /orders?token={token} with {key} was refused")

    @penstock.resource(work_items=range(3))
    def split(item, extra: str = penstock.secrets.value):
        yield {"id": item, "has": len(token) + len(key) + len(extra)}

    @penstock.resource(work_items=range(3))
    def torn(item, extra: str = penstock.secrets.value):
        raise ConnectionError(f"GET /{item}?token={token}&extra={extra} with {key} was refused")

    return orders, broken, split, torn

lake = penstock.destinations.delta(sys.argv[1])
pipeline = penstock.pipeline("quick", pipelines_dir=sys.argv[2], destination=lake, dataset_name="demo")
given = shop(key=sys.argv[3])
print(pipeline.run(given.with_resources("orders", "split")))
for name in ("broken", "torn"):
    try:
        pipeline.run(shop(key=sys.argv[3]).with_resources(name))
    except penstock.PenstockError as error:
        print(str(error), repr(error), json.dumps(vars(error), default=str))
        logging.getLogger("penstock").error("the run of %s failed: %s", name, error)
print(repr(given), penstock.config.explain("sources.shop.token"))
assert seen["token"].startswith("canary-in-the-config") and seen["key"].startswith("canary-in-an-argument")
print("all runs are over")
"""


def test_planted_secrets_are_in_no_log_no_error_no_package_file_and_no_event_log(tmp_path: Path) -> None:
    work = tmp_path / "work"
    settings, events = work / ".penstock", tmp_path / "events"
    settings.mkdir(parents=True)
    events.mkdir()
    (settings / "secrets.toml").write_text(
        f'[sources]\nextra = "{IN_EXTRA}"\n[sources.shop]\ntoken = "{IN_CONFIG}"\n'
    )
    (settings / "secrets.toml").chmod(0o600)
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.my.apikey": IN_CONF,
        "spark.db.pwd": IN_CONF,
    }
    lines = "\n".join(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in conf.items())
    (settings / "config.toml").write_text(f"[spark.conf]\n{lines}\n")
    environment = {**process_env(), "PENSTOCK_HOME": str(tmp_path / "home")}
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        str(tmp_path / "lake"),
        str(tmp_path / "pipelines"),
        IN_ARGUMENT,
    ]

    done = subprocess.run(command, check=False, capture_output=True, env=environment, cwd=work)

    shown = done.stdout + done.stderr
    assert b"all runs are over" in done.stdout, shown.decode()
    for name in ("broken", "torn"):
        output = f"the run of {name} failed: .* failed in extract[^:]*: {name} raised ConnectionError"
        assert re.search(output, done.stdout.decode()), shown.decode()
    places = {"shown": shown} | {
        str(path.relative_to(tmp_path)): path.read_bytes()
        for folder in ("lake", "pipelines", "events", "home")
        for path in (tmp_path / folder).rglob("*")
        if path.is_file()
    }
    assert any(name.startswith("events/") for name in places)
    assert any("_dlt_pkg" in name for name in places)
    result = [
        (name, secret) for name, text in places.items() for secret in CANARIES if secret.encode() in text
    ]
    assert result == []
