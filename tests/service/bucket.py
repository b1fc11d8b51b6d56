"""The keys of the S3 gateway that `make up` starts."""

from __future__ import annotations

import os
from typing import Any

from penstock.config import AwsCredentials


def keys(**others: Any) -> AwsCredentials:
    """The keys of the gateway, as a user gives them."""
    given = {
        "aws_access_key_id": os.environ["PENSTOCK_TEST_S3_KEY"],
        "aws_secret_access_key": os.environ["PENSTOCK_TEST_S3_SECRET"],
        "endpoint_url": os.environ["PENSTOCK_TEST_S3_ENDPOINT"],
    }
    return AwsCredentials(**{**given, **others})
