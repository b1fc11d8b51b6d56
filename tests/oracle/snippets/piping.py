"""A transformer that gives values, lists and nothing."""

import dlt


@dlt.resource
def words():
    yield from ["ant", "bee", "cow"]


@dlt.transformer
def length(word, factor=1):
    return {"word": word, "length": len(word) * factor}


@dlt.transformer
def letters(word):
    return [{"letter": letter} for letter in word]


@dlt.transformer
def only_bee(word):
    return {"found": word} if word == "bee" else None


def run(extract):
    extract(words | length)
    extract(words | length(factor=10))
    extract(words | letters)
    extract(words | only_bee)
    extract(["x", "yz"] | length())
