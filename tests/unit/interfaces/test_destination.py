from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

import penstock
from penstock.errors import InvalidDestinationReference, UnknownDestination
from penstock.interfaces import Destination, destination_names, find_destination

if TYPE_CHECKING:
    from pathlib import Path


def test_our_own_destination_is_found_by_name() -> None:
    reference = find_destination("delta")

    assert reference.spec().model_fields["destination_name"].default == "delta"
    assert "append" in reference.capabilities().supported_write_dispositions


def test_an_unknown_name_is_answered_with_the_names_that_work() -> None:
    with pytest.raises(UnknownDestination) as caught:
        find_destination("detla")

    assert vars(caught.value)["known"] == destination_names()
    assert "delta" in destination_names()
    assert "delta" in caught.value.hint


def test_a_name_means_the_destination_without_arguments() -> None:
    made = Destination.from_reference("delta")

    assert made == Destination("delta", find_destination("delta"), {})
    assert Destination.from_reference(made) is made


def test_a_destination_created_directly_keeps_its_arguments() -> None:
    made = penstock.destinations.delta(bucket_url="s3://lake")

    assert (made.destination_name, made.arguments) == ("delta", {"bucket_url": "s3://lake"})


def test_an_entry_point_without_a_destination_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[penstock.destinations]\nbroken = json:JSONDecoder\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    with pytest.raises(InvalidDestinationReference, match="'broken' names a type"):
        penstock.pipeline("shop", destination="broken")
