"""Transformers that yield, one after the other."""

import dlt


@dlt.resource(selected=False)
def users():
    yield [{"id": 1}, {"id": 2}]


@dlt.transformer
def posts(page):
    for user in page:
        for number in range(2):
            yield {"user": user["id"], "post": number}


@dlt.transformer
def comments(post):
    for number in range(post["post"] + 1):
        yield {"user": post["user"], "post": post["post"], "comment": number}


def run(extract):
    extract(users | posts | comments)
