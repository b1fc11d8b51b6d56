from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from penstock.extract.settings import ExtractConfiguration
from penstock.package import FileStorage
from penstock.pipeline.workspace import choose_row_sender

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("said", "is_remote", "is_writable", "sends"),
    [
        ("auto", False, True, False),
        ("auto", False, False, False),
        ("auto", True, True, False),
        ("auto", True, False, True),
        (True, False, True, True),
        (False, True, False, False),
    ],
)
def test_rows_are_sent_by_setting_or_where_a_client_cannot_write(
    tmp_path: Path, said: Any, is_remote: bool, is_writable: bool, sends: bool
) -> None:
    (tmp_path / "file").touch()
    store = FileStorage(str(tmp_path / ("folder" if is_writable else "file/folder")))
    settings = ExtractConfiguration(through_session=said)

    send = choose_row_sender(settings, store, lambda: nullcontext(None), is_remote=is_remote)  # type: ignore[arg-type]

    assert (send is not None) is sends
    assert not (tmp_path / "folder" / "_probe").exists()
