from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidDatasetName, InvalidPipelineName, UsageError
from penstock.pipeline.workdir import WorkDir, check_name

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "name", ["shop", "Shop_2", "github-events", "a.b", "_x", "9lives", "a" * 128, "console"]
)
def test_a_valid_name_is_returned(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            " ",
            ".",
            "..",
            "../x",
            "a/b",
            "/a",
            "a\\b",
            ".hidden",
            "-rf",
            "a.",
            "a b",
            "a\n",
            "ü",
            "a:b",
            "a\0",
        ),
        *("nul", "NUL", "con", "aux.txt", "com1", "LPT9.log"),
        *("a" * 129, "a" * 300),
    ],
)
def test_a_name_that_is_not_a_folder_on_every_system_is_refused(name: str) -> None:
    with pytest.raises(InvalidPipelineName) as caught:
        check_name(name)

    assert vars(caught.value)["name"] == name


def test_the_error_has_the_kind_of_the_name() -> None:
    with pytest.raises(InvalidDatasetName, match="invalid dataset name 'a/b'"):
        check_name("a/b", InvalidDatasetName)


@given(name=st.text(max_size=6) | st.text("./\\a~ \n:", max_size=6))
def test_no_valid_name_leads_out_of_its_folder(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    home = tmp_path_factory.getbasetemp() / "home"
    try:
        checked = check_name(name)
    except InvalidPipelineName:
        return

    assert (home / checked).resolve().parent == home.resolve()


def test_copies_are_read_back_and_replaced(tmp_path: Path) -> None:
    folder = WorkDir(tmp_path / "shop")
    before = folder.state()

    for version in (1, 2):
        folder.save(state={"_state_version": version}, schema={"name": "shop", "version": version})

    assert before is None
    assert folder.state() == {"_state_version": 2}
    schema = json.loads((tmp_path / "shop" / "schemas" / "shop.schema.json").read_text(encoding="utf-8"))
    assert schema == {"name": "shop", "version": 2}
    assert sorted(path.name for path in (tmp_path / "shop").rglob("*") if path.is_file()) == [
        "shop.schema.json",
        "state.json",
    ]


@pytest.mark.parametrize("content", [b'{"a": ', b"[]", b"\xff"])
def test_an_unreadable_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state.json").write_bytes(content)

    with pytest.raises(UsageError, match=r"state\.json cannot be read: ") as caught:
        WorkDir(tmp_path).state()

    assert vars(caught.value)["path"] == str(tmp_path / "state.json")
