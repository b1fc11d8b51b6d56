"""The cursor as a step: where it stands among others, and several of them."""

import dlt


def rows():
    for number in range(5):
        yield {"n": number, "m": 10 - number}


def doubled(row):
    return {**row, "n": row["n"] * 2}


def run(extract):
    def fresh(name):
        return dlt.resource(rows, name=name)

    extract(fresh("a").add_step(dlt.sources.incremental("n", initial_value=3)))
    extract(fresh("a").add_step(dlt.sources.incremental("n", initial_value=3)))
    extract(fresh("b").add_step(dlt.sources.incremental("n", initial_value=3)).add_map(doubled))
    extract(fresh("c").add_map(doubled).add_step(dlt.sources.incremental("n", initial_value=3), insert_at=1))
    extract(
        fresh("d")
        .add_step(dlt.sources.incremental("n", initial_value=2))
        .add_step(dlt.sources.incremental("m", initial_value=9, last_value_func=min))
    )
    extract(fresh("e").add_step(dlt.sources.incremental("n", initial_value=3)).add_map(doubled, insert_at=2))
    cursor = dlt.sources.incremental("n", initial_value=3)
    extract(fresh("f").add_map(doubled).apply_hints(incremental=cursor))
    extract(fresh("g").add_step(dlt.sources.incremental("n")).add_filter(lambda row: row["n"] < 3))
