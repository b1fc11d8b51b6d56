"""Steps that make several items of one."""

import dlt


def words():
    yield {"text": "to be"}
    yield [{"text": "or not"}, {"text": "to be"}]


def split(row):
    for position, word in enumerate(row["text"].split()):
        yield {"word": word, "position": position}


def run(extract):
    extract(dlt.resource(words, name="words").add_yield_map(split))
    extract(
        dlt.resource(words, name="words").add_yield_map(split).add_filter(lambda row: row["position"] == 0)
    )
    extract(dlt.resource(words, name="words").add_yield_map(lambda row: iter(())))
