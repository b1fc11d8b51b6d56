"""Rows without a cursor value: raised, taken along, or left out."""

import dlt

ROWS = [{"n": 1}, {"m": 1}, {"n": None}, {"n": 3}]


def run(extract):
    for how in ("raise", "include", "exclude"):
        cases = {"lacking": ROWS[:2], "empty": [ROWS[0], ROWS[2]], "all": ROWS, "none": ROWS[1:3]}
        for name, rows in cases.items():
            terms = dlt.sources.incremental("n", on_cursor_value_missing=how)
            extract(dlt.resource(rows, name=f"{name}_{how}", incremental=terms))
            extract(dlt.resource([rows], name=f"{name}_{how}_page", incremental=terms))
    extract(dlt.resource(ROWS, name="pathless", incremental=dlt.sources.incremental("a.n")))
    extract.declaring(lambda: dlt.sources.incremental("n", on_cursor_value_missing="perhaps"))
    extract.declaring(lambda: dlt.sources.incremental("n", last_value_func="mean"))
