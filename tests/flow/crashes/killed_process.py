"""A program that loads the second batch and kills itself: `<lake> <folder> <step> [seconds after it]`."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from pathlib import Path

from tests.flow.crashes.lakes import LAKES
from tests.flow.crashes.shop import lake_of, pipeline_at, shop
from tests.flow.crashes.steps import Step, Steps, recording_steps


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(lake: str, folder: str, pattern: str, seconds: str = "0") -> None:
    root = Path(folder)

    def look(step: Step) -> None:
        if re.search(pattern, step.what):
            if float(seconds):
                threading.Timer(float(seconds), die).start()
            else:
                die()

    steps = Steps(root, look)
    with recording_steps(steps):
        pipeline_at(root, None, destination=LAKES[lake].destination_with_steps(steps, lake_of(root))).run(
            shop(2)
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
