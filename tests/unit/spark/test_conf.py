"""Settings that hold for a block are afterwards what they were before: the session may be the user's."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.spark.conf import temporary_conf

METADATA, APP = "spark.databricks.delta.commitInfo.userMetadata", "spark.databricks.delta.write.txnAppId"


class Conf(dict[str, Any]):
    """The part of a session's conf that is used, over a dict."""

    set, unset = dict.__setitem__, dict.pop


class Session:
    def __init__(self, **conf: str) -> None:
        self.conf = Conf(conf)


def test_settings_of_the_user_are_restored_after_the_block_and_after_an_error() -> None:
    session: Any = Session(**{METADATA: "mine"})

    with temporary_conf(session, {METADATA: "load 3", APP: "penstock"}):
        assert session.conf == {METADATA: "load 3", APP: "penstock"}
    assert session.conf == {METADATA: "mine"}

    with (
        pytest.raises(ValueError, match="stop"),
        temporary_conf(session, {METADATA: "load 4", APP: "penstock"}),
    ):
        raise ValueError("stop")
    assert session.conf == {METADATA: "mine"}
