from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.restapi import Api

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def api() -> Iterator[Api]:
    with Api() as running:
        yield running
