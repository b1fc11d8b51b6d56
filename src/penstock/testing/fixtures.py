"""Fixtures of pytest: `pytest_plugins = ["penstock.testing.fixtures"]` in the conftest.py of the project."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from penstock.testing.cassettes import cassette as open_cassette
from penstock.testing.temporary import temporary_pipeline as create_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from penstock.pipeline.pipeline import Pipeline
    from penstock.testing.cassettes import Cassette


@pytest.fixture
def cassette(request: pytest.FixtureRequest) -> Callable[..., AbstractContextManager[Cassette]]:
    """Open cassettes by name: `cassette("orders")` is `cassettes/<test file>/orders.json` beside the test.

    Without a name it is that of the test function. The other arguments are those of
    `penstock.testing.cassette`.
    """

    def open_by_name(name: str | None = None, **options: Any) -> AbstractContextManager[Cassette]:
        path = (
            request.path.parent
            / "cassettes"
            / request.path.stem
            / f"{name or request.function.__name__}.json"
        )
        return open_cassette(path, **options)

    return open_by_name


@pytest.fixture
def temporary_pipeline() -> Iterator[Callable[..., Pipeline]]:
    """Create pipelines that are deleted after the test; takes the arguments of the function of this name."""
    with ExitStack() as stack:

        def create(*args: Any, **options: Any) -> Pipeline:
            return stack.enter_context(create_pipeline(*args, **options))

        yield create
