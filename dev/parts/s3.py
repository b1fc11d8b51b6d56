"""An S3 gateway over a folder, with one bucket."""

import os
import secrets
from collections.abc import Mapping
from typing import Final

from dev.parts.folders import PartFolders
from dev.parts.processes import LOOPBACK, Launch, Part, Started, free_port, url_answers
from dev.parts.tools import go_install

VERSION: Final = "v1.8.0"
MODULE: Final = "github.com/versity/versitygw/cmd/versitygw"
BUCKET: Final = "penstock"
S3: Final = "s3"


def _launch(folders: PartFolders, _: Mapping[str, Started]) -> Launch:
    home = folders.run / "s3"
    (home / "buckets" / BUCKET).mkdir(parents=True, exist_ok=True)
    (home / "metadata").mkdir(exist_ok=True)
    address = f"{LOOPBACK}:{free_port()}"
    key, secret = "penstock", secrets.token_hex(16)
    backend = ("posix", "--sidecar", str(home / "metadata"), str(home / "buckets"))
    gateway = str(go_install(folders, "versitygw", module=MODULE, version=VERSION))
    return Launch(
        command=(gateway, "--port", address, "--health", "/health", *backend),
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


def _healthy(_: PartFolders, started: Started) -> bool:
    return url_answers(f"http://{started.address}/health")


PARTS: Final = (Part(name=S3, group=S3, launch=_launch, healthy=_healthy),)
