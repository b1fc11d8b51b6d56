from __future__ import annotations

import io
import logging
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config import RedactingFilter, logger, redact, remember_secret
from penstock.redaction import is_secret_name, redact_pieces

texts = st.text(max_size=30)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("postgresql://ada:lovelace@db:5432/x", "postgresql://***@db:5432/x"),
        ("postgresql://ada:love/lace@db/x", "postgresql://***@db/x"),
        ("postgresql://ada:love@lace@db/x", "postgresql://***@db/x"),
        ("postgresql+psycopg://ada:x@db", "postgresql+psycopg://***@db"),
        ("https://ghtoken@github.com/x.git", "https://***@github.com/x.git"),
        ("s3://key:secret@bucket/a b://c:d@e", "s3://***@bucket/a b://***@e"),
        ("'amqp://u:p@h' failed", "'amqp://***@h' failed"),
        (
            "jdbc:postgresql://h/db?user=u&password=p&ssl=true",
            "jdbc:postgresql://h/db?user=u&password=***&ssl=true",
        ),
        (
            "https://a.blob.core.windows.net/c?sv=1&sig=abc%3D&se=2",
            "https://a.blob.core.windows.net/c?sv=1&sig=***&se=2",
        ),
        ("https://b.s3/k?X-Amz-Signature=abc&x=1", "https://b.s3/k?X-Amz-Signature=***&x=1"),
        ("https://b.s3/k?X-Amz-Security-Token=abc", "https://b.s3/k?X-Amz-Security-Token=***"),
        ("host=h password=p dbname=d", "host=h password=*** dbname=d"),
        ("password='two words' host=h", "password=*** host=h"),
        ("Driver=x;UID=u;PWD={a;b};Port=1", "Driver=x;UID=u;PWD=***;Port=1"),
        ("AccountName=a;AccountKey=abc==;x", "AccountName=a;AccountKey=***;x"),
        ("aws_secret_access_key = abc", "aws_secret_access_key = ***"),
        ("Login(user='ada', password='p')", "Login(user='ada', password=***)"),
        ('{"user": "ada", "password": "p\\"q", "x": 1}', '{"user": "ada", "password": "***", "x": 1}'),
        ("{'api_key': 'p', 'x': 'y'}", "{'api_key': '***', 'x': 'y'}"),
        ("Authorization: Bearer abcdefgh.123", "Authorization: Bearer ***"),
        ("key AKIAABCDEFGHIJKLMNOP here", "key *** here"),
        ("ghp_abcdefghijklmnopqrstuvwxyz", "***"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "***"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nx", "***\nx"),
        ("-----BEGIN PRIVATE KEY-----\nabc cut off", "***"),
    ],
)
def test_texts_that_look_like_secrets_are_masked(text: str, clean: str) -> None:
    assert redact(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "https://host:8080/path?mail=a@b",
        "https://host/path?mail=a:b@c",
        "abfss://container@account.dfs.core.windows.net/lake",
        "ssh://git@github.com/x",
        "s3://bucket/folder@2/x",
        "primary_key=id, merge_key='id'",
        "Unexpected token: }",
        "design=abc assigned=x",
        "basic auth failed",
        "a mail to ada@example.com",
        "",
    ],
)
def test_other_texts_are_unchanged(text: str) -> None:
    assert redact(text) == text


@given(texts)
def test_any_text_can_be_cleaned_and_cleaning_twice_changes_nothing(text: str) -> None:
    clean = redact(text)

    assert redact(clean) == clean


@given(
    secret=st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=8, max_size=40),
    before=texts,
    after=texts,
)
def test_a_registered_secret_is_masked_everywhere(secret: str, before: str, after: str) -> None:
    secret = f"~8{secret}"  # in no other text: what one test makes known is known to all that follow
    remember_secret(secret)

    for text in (f"{before}{secret}{after}", repr(f"{before}\n{secret}"), f"{secret} {secret}"):
        assert secret not in redact(text)


@pytest.mark.parametrize("shown", ["p%40ss%20w%2Frd-1", "p%40ss+w%2Frd-1", "p@ss w/rd-1", "p%40ss%20w/rd-1"])
def test_a_secret_is_masked_in_its_quoted_forms(shown: str) -> None:
    remember_secret("p@ss w/rd-1")

    assert redact(f"GET /?x={shown}!") == "GET /?x=***!"


def test_long_lines_of_a_secret_are_secrets() -> None:
    remember_secret("first-line-of-a-key\nsecond-line-of-a-key\nend")

    assert redact("it was second-line-of-a-key, the end") == "it was ***, the end"


def test_a_short_word_is_masked_only_as_a_whole_word() -> None:
    remember_secret("xyzzyq")

    assert redact("xyzzyq 'xyzzyq' axyzzyq xyzzyqs") == "*** '***' axyzzyq xyzzyqs"


def test_very_short_secrets_and_words_that_everybody_knows_are_not_searched_for() -> None:
    for word in ("abc", "postgres", "password", ""):
        remember_secret(word)

    assert redact("abc postgres password") == "abc postgres password"


def test_pieces_of_a_text_are_masked_in_the_message_of_its_parser() -> None:
    assert redact_pieces("bad port 'lovelace' in db", "db://ada:lovelace@db") == "bad port '***' in db"
    assert redact_pieces("nothing", "") == "nothing"


def test_names_of_secrets_are_recognized() -> None:
    names = ("api_key", "Password", "aws_secret_access_key", "connection_string", "refresh_token")

    assert all(is_secret_name(name) for name in names)
    assert not any(is_secret_name(name) for name in ("primary_key", "bucket_url", "pages", "connector"))


def logged(name: str, *arguments: object, error: BaseException | None = None) -> str:
    stream = io.StringIO()
    log = logger(name)
    handler = logging.StreamHandler(stream)
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        log.error(*arguments, exc_info=error)
    finally:
        log.removeHandler(handler)
    return stream.getvalue()


def test_log_lines_and_tracebacks_are_without_secrets() -> None:
    secret = "hunter2-hunter2"
    remember_secret(secret)
    with pytest.raises(ValueError, match=secret) as caught:
        int(secret)

    said = logged("penstock.test", "failed with %s for %r", secret, [secret], error=caught.value)

    assert secret not in said
    assert said.startswith("failed with *** for ['***']\nTraceback")
    assert said.endswith("ValueError: invalid literal for int() with base 10: '***'\n")


def test_a_record_whose_arguments_do_not_fit_is_logged_all_the_same() -> None:
    remember_secret("hunter2-hunter2")

    assert logged("penstock.misfit", "%d of %s", "hunter2-hunter2") == "%d of %s ('***',)\n"


def test_a_record_without_secrets_keeps_its_exception() -> None:
    error = ValueError("plain")
    record = logging.makeLogRecord({"msg": "m", "exc_info": (ValueError, error, None)})

    RedactingFilter().filter(record)

    assert record.exc_info == (ValueError, error, None)


def test_a_logger_gets_the_filter_once() -> None:
    assert logger("penstock.twice").filters == logger("penstock.twice").filters
    assert len(logger("penstock.twice").filters) == 1


@pytest.mark.parametrize(
    "piece",
    ["a", "token", "token=", "token={", "a://b:", '"token', '"token":', "eyJ", "-----BEGIN ", "conn", "@x"],
)
def test_the_time_grows_with_the_text_and_not_faster(piece: str) -> None:
    text = piece * (200_000 // len(piece))

    start = time.perf_counter()
    redact(text)

    assert time.perf_counter() - start < 60, "a pattern that looks back over the text again takes hours"
