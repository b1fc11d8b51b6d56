"""Which sessions may be given SQL text that is made of names and values."""

from __future__ import annotations

import pytest

from penstock.errors import SessionChangesText
from penstock.spark.presets import SQL_TEXT_CONF
from penstock.spark.sqltext import check_table_name, check_text_conf, check_texts

SUBSTITUTE, ESCAPED, REGEX = SQL_TEXT_CONF


class Conf:
    """The settings of a session, as a dict."""

    def __init__(self, **settings: str) -> None:
        self.settings: dict[str, str] = {**SQL_TEXT_CONF, **settings}

    @property
    def conf(self) -> Conf:
        return self

    def get(self, key: str) -> str:
        return self.settings[key]


def changing(setting: str) -> Conf:
    return Conf(**{setting: "true"})


@pytest.mark.parametrize("setting", SQL_TEXT_CONF)
def test_a_session_that_changes_text_is_refused(setting: str) -> None:
    check_text_conf(Conf())
    with pytest.raises(SessionChangesText, match=setting) as raised:
        check_text_conf(changing(setting))

    assert f'spark.conf.set("{setting}", "false")' in str(raised.value)


@pytest.mark.parametrize(
    ("setting", "changed"), [(SUBSTITUTE, "`${env:A}`"), (ESCAPED, r"'a\\b'"), (REGEX, "`a`")]
)
def test_a_text_is_refused_only_by_a_session_that_changes_it(setting: str, changed: str) -> None:
    check_texts([changed], spark=Conf())
    check_texts(["id AS x", "1"], spark=changing(setting))
    with pytest.raises(SessionChangesText, match=setting):
        check_texts(["id", changed], spark=changing(setting))


def test_a_table_name_is_an_error_only_if_the_session_would_change_it() -> None:
    check_table_name("`c`.`d`.`t`", spark=changing(SUBSTITUTE))
    check_table_name("`c`.`d`.`${env:A}`", spark=changing(REGEX))
    with pytest.raises(SessionChangesText):
        check_table_name("`c`.`d`.`${env:A}`", spark=changing(SUBSTITUTE))
