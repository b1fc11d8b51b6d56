"""Fields of a cursor from the environment."""

import os

import dlt

os.environ["SOURCES__INCREMENTAL_SETTINGS__WORDS__WORD__INITIAL_VALUE"] = "b"
os.environ["SOURCES__INCREMENTAL_SETTINGS__RANGED__WORD__END_VALUE"] = "c"
os.environ["SOURCES__INCREMENTAL_SETTINGS__LATE__WORD__CURSOR_PATH"] = "word"
os.environ["SOURCES__INCREMENTAL_SETTINGS__LATE__WORD__INITIAL_VALUE"] = "c"
os.environ["SOURCES__INCREMENTAL_SETTINGS__TERMS__N__LAG"] = "1"
os.environ["SOURCES__INCREMENTAL_SETTINGS__TERMS__N__RANGE_START"] = "open"
os.environ["SOURCES__INCREMENTAL_SETTINGS__TERMS__N__ROW_ORDER"] = "desc"

ROWS = [{"word": word} for word in "abcd"]


@dlt.resource
def words(word=dlt.sources.incremental("word", initial_value="a")):
    yield ROWS


@dlt.resource
def ranged(word: dlt.sources.incremental[str] = dlt.sources.incremental("word", initial_value="b")):
    yield ROWS


@dlt.resource
def late(word: dlt.sources.incremental[str] = dlt.config.value):
    yield ROWS


@dlt.resource
def terms(n=dlt.sources.incremental("n", initial_value=1)):
    yield [{"n": 1, "order": n.row_order}, {"n": 5, "order": n.row_order}]


@dlt.source
def incremental_settings():
    return words, ranged


def run(extract):
    extract(words)
    extract(words("c").with_name("words"))
    extract(words(dlt.sources.incremental(end_value="d")))
    extract(ranged)
    extract(late)
    extract(terms)
    extract(terms)
    extract(incremental_settings())
