from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.errors import UsageError
from penstock.interfaces import FollowupJob, LoadJob, NewLoadJob

if TYPE_CHECKING:
    from penstock.interfaces import TLoadJobState


class Done(LoadJob, FollowupJob):
    def state(self) -> TLoadJobState:
        return "completed"

    def exception(self) -> str:
        return ""


class Asking(NewLoadJob):
    def state(self) -> TLoadJobState:
        return "completed"

    def exception(self) -> str:
        return ""

    def new_file_path(self) -> str:
        return f"somewhere/{self.file_name()}"


def test_a_job_is_identified_by_its_file_name() -> None:
    first, again = Done("items.5c1c2f0d11.0.reference"), Done("items.5c1c2f0d11.3.reference")

    assert first.file_name() == "items.5c1c2f0d11.0.reference"
    assert first.job_id() == again.job_id() == "items.5c1c2f0d11.reference"
    assert again.job_file_info().retry_count == 3
    assert Done("items.5c1c2f0d12.0.reference").job_id() != first.job_id()


def test_an_invalid_file_name_makes_no_job() -> None:
    with pytest.raises(UsageError):
        Done("items")


def test_a_job_cannot_be_without_a_state_and_a_reason() -> None:
    with pytest.raises(TypeError, match="abstract"):
        LoadJob("items.x.0.reference")  # type: ignore[abstract]
    with pytest.raises(TypeError, match="abstract"):
        NewLoadJob("items.x.0.sql")  # type: ignore[abstract]


def test_a_follow_up_job_returns_the_path_of_its_file() -> None:
    assert Asking("items.x.0.sql").new_file_path() == "somewhere/items.x.0.sql"


def test_a_job_has_no_follow_up_jobs_by_default() -> None:
    assert list(Done("items.x.0.reference").create_followup_jobs("completed")) == []
    assert list(Done("items.x.0.reference").applied()) == []
