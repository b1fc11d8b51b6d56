"""The tutorial of files: new CSV files by their time of change, with a cursor in the rows, merged."""

import os
import runpy
from pathlib import Path

import dlt
from program import SCRIPT

TURNS = 2
FOLDER = Path.cwd() / "files"
os.environ["SOURCES__FILESYSTEM__BUCKET_URL"] = str(FOLDER)


def run(turn):
    """Add the files of the turn and run the block of the page."""
    FOLDER.mkdir(exist_ok=True)
    for number in (1, 2) if turn == 1 else (3,):
        path = FOLDER / f"encounters-{number}.csv"
        first = number * 100 - (30 if turn == 2 else 0)
        rows = [f"e-{first + row},2026-0{turn}-{row % 28 + 1:02d},class {row % 5}" for row in range(100)]
        path.write_text("\n".join(["id,STOP,Encounter Class", *rows]) + "\n")
        os.utime(path, (1_770_000_000 + number, 1_770_000_000 + number))
    runpy.run_path(SCRIPT)
    return dlt.pipeline()
