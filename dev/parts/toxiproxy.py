"""A proxy before the S3 gateway, in which tests make the network slow, narrow or broken."""

import json
from collections.abc import Mapping
from typing import Final

from dev.parts.folders import PartFolders
from dev.parts.processes import LOOPBACK, Launch, Part, Started, free_port, url_answers
from dev.parts.s3 import S3
from dev.parts.tools import go_install

VERSION: Final = "v2.12.0"
MODULE: Final = "github.com/Shopify/toxiproxy/v2/cmd/server"
PROXY: Final = "s3"


def _launch(folders: PartFolders, running: Mapping[str, Started]) -> Launch:
    home = folders.run / "toxiproxy"
    home.mkdir(parents=True, exist_ok=True)
    api, proxy = (f"{LOOPBACK}:{free_port()}" for _ in range(2))
    proxies = home / "proxies.json"
    proxies.write_text(json.dumps([{"name": PROXY, "listen": proxy, "upstream": running[S3].address}]))
    host, port = api.split(":")
    server = str(go_install(folders, "toxiproxy", module=MODULE, version=VERSION))
    return Launch(
        command=(server, "-host", host, "-port", port, "-config", str(proxies)),
        cwd=home,
        address=api,
        exports={
            "PENSTOCK_TEST_TOXIPROXY": f"http://{api}",
            "PENSTOCK_TEST_S3_TOXIC": f"http://{proxy}",
        },
    )


def _healthy(_: PartFolders, started: Started) -> bool:
    # Through the proxy to the gateway: without a proxy if the port was taken meanwhile.
    return url_answers(f"{started.exports['PENSTOCK_TEST_S3_TOXIC']}/health")


PARTS: Final = (Part(name="toxiproxy", group="toxiproxy", launch=_launch, healthy=_healthy, needs=(S3,)),)
