"""The test on the page about testing a source is recorded and replayed, in a pytest without Java."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.restapi import Api

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "test-a-source.md"
FILES = dict(
    re.findall(
        r'^<!-- run by .*? -->\n```python title="([^"]+)"\n(.*?)^```',
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
)
SECRET = "key-of-the-page-2718"


def run_pytest(folder: Path, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_shop.py"],
        cwd=folder,
        env={**os.environ, "JAVA_HOME": "/nowhere", "CI": "true", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_the_test_on_the_page_is_recorded_and_replayed(tmp_path: Path) -> None:
    with Api() as api:
        for name, text in FILES.items():
            (tmp_path / name).write_text(text.replace("https://api.example.com", api.url))
        missing = run_pytest(tmp_path)
        recording = run_pytest(tmp_path, PENSTOCK_CASSETTES="record", SHOP_API_KEY=SECRET)
        count = len(api.seen)
    replay = run_pytest(tmp_path)

    assert sorted(FILES) == ["conftest.py", "shop.py", "test_shop.py"]
    assert "does not exist" in missing
    assert "1 passed" in recording, recording
    assert count == 3
    assert "1 passed" in replay, replay
    text = (tmp_path / "cassettes" / "test_shop" / "orders.json").read_text()
    assert len(json.loads(text)["exchanges"]) == 3
    assert SECRET not in text
