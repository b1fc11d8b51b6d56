"""Pages: what is at the boundary is known again by the whole row."""

import dlt


@dlt.resource
def pages(given, updated=dlt.sources.incremental("day")):
    yield from given


def rows(*days):
    return [{"day": day, "n": number} for number, day in enumerate(days)]


def run(extract):
    extract(pages([rows("2024-01-01", "2024-01-02"), [], rows("2024-01-02", "2024-01-03", "2024-01-03")]))
    extract(pages([rows("2024-01-03"), rows("2024-01-02", "2024-01-03", "2024-01-03", "2024-01-04")]))
    extract(pages([rows("2024-01-01")]))
    extract(pages([]))
