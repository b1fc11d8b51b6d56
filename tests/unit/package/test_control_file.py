from __future__ import annotations

import pytest

from penstock.errors import UnsupportedVersion
from penstock.package.control_file import FORMAT_VERSION, without_version


def test_a_format_newer_than_this_release_is_refused_with_both_versions() -> None:
    with pytest.raises(UnsupportedVersion) as caught:
        without_version({"format_version": FORMAT_VERSION + 1}, path="x")

    assert vars(caught.value)["has"] == str(FORMAT_VERSION + 1)
    assert vars(caught.value)["supports"] == f"up to {FORMAT_VERSION}"
