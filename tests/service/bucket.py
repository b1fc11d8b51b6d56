"""Settings of users for the S3 gateway and the Postgres that `make up` starts."""

from __future__ import annotations

import hashlib
import os
from typing import Any
from urllib.parse import urlsplit

from penstock.config import AwsCredentials


def keys(**others: Any) -> AwsCredentials:
    """Return the keys of the gateway, as a user sets them."""
    given = {
        "aws_access_key_id": os.environ["PENSTOCK_TEST_S3_KEY"],
        "aws_secret_access_key": os.environ["PENSTOCK_TEST_S3_SECRET"],
        "endpoint_url": os.environ["PENSTOCK_TEST_S3_ENDPOINT"],
        "conditional_writes": True,
    }
    return AwsCredentials(**{**given, **others})


def jdbc_catalog(location: str) -> dict[str, Any]:
    """Return the settings of an Iceberg catalog in Postgres, whose tables its first user creates.

    Each location has a separate catalog, so tests do not share one.
    """
    server = urlsplit(os.environ["PENSTOCK_TEST_POSTGRES"])
    return {
        "catalog": "jdbc",
        "catalog_name": f"lake_{hashlib.sha256(location.encode()).hexdigest()[:12]}",
        "catalog_properties": {
            "uri": f"jdbc:postgresql://{server.hostname}:{server.port}{server.path}",
            "jdbc.user": server.username,
            "jdbc.password": server.password,
        },
    }
