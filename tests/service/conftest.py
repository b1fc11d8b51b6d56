"""A place in the bucket of the S3 gateway."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

import pytest
from tests.service.bucket import keys

from penstock.package import FileStorage

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def location() -> Iterator[str]:
    """A place in the bucket, empty and removed afterwards."""
    address = f"s3://{os.environ['PENSTOCK_TEST_S3_BUCKET']}/lakes-{uuid.uuid4().hex[:12]}"
    yield address
    FileStorage(address, credentials=keys()).delete("")
