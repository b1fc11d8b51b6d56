"""A commit that met another one is made again, and nothing else is."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from penstock.destinations.delta.conflicts import retry_on_conflict
from penstock.destinations.lake.conflicts import MAX_ATTEMPTS
from penstock.errors import DestinationTerminalException

CONFLICT = "[DELTA_CONCURRENT_APPEND.WITHOUT_HINT] Transaction conflict detected."


@dataclass
class Commit:
    """Is refused some times."""

    refused: int
    message: str = CONFLICT
    calls: int = 0
    pauses: list[float] = field(default_factory=list)

    def __call__(self) -> None:
        self.calls += 1
        if self.calls <= self.refused:
            raise RuntimeError(self.message)


def test_a_conflicting_commit_is_retried_until_it_succeeds() -> None:
    commit = Commit(refused=7)

    retry_on_conflict("items", commit, wait=commit.pauses.append)

    assert commit.calls == 8
    assert len(commit.pauses) == 7
    assert all(0 < pause <= 8 for pause in commit.pauses)


def test_retries_are_limited() -> None:
    commit = Commit(refused=1000)

    with pytest.raises(RuntimeError, match="conflict"):
        retry_on_conflict("items", commit, wait=commit.pauses.append)

    assert commit.calls == MAX_ATTEMPTS


def test_other_errors_are_not_conflicts() -> None:
    commit = Commit(refused=1, message="[DELTA_TABLE_NOT_FOUND] no such table")

    with pytest.raises(RuntimeError, match="no such table"):
        retry_on_conflict("items", commit, wait=commit.pauses.append)

    assert commit.calls == 1


@pytest.mark.parametrize(
    ("message", "constraint"),
    [
        ("[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK c (a > 0) violated:\n - a : secret", r"c \(a > 0\)"),
        ('[DELTA_EXCEED_CHAR_VARCHAR_LIMIT] Value "secret" exceeds the limit', "EXCEED_CHAR_VARCHAR"),
    ],
)
def test_a_violated_constraint_is_terminal_and_its_message_hides_the_values(
    message: str, constraint: str
) -> None:
    commit = Commit(refused=1, message=message)

    with pytest.raises(
        DestinationTerminalException, match=f"constraint of table items: .*{constraint}"
    ) as caught:
        retry_on_conflict("items", commit, wait=commit.pauses.append)

    assert commit.calls == 1
    assert "secret" not in str(caught.value)
