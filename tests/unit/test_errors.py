"""The texts of all errors, and the masking of secrets in them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.error_examples import CLASSES, EXAMPLES, example

from penstock import errors
from penstock.config import remember_secret
from penstock.sources.rest_api.executor_resources import EXECUTOR_MODULES
from penstock.spark.serialization import serialize_by_value

GOLDEN = Path(__file__).parent / "golden" / "errors.txt"
SECRET = "magpie-4711-in-the-tree"
TEXTS = {
    "Spark Connect": f"sc://spark.example.com:443/;use_ssl=true;token={SECRET};user_id=ada",
    "user": f"postgresql://ada:{SECRET}@db.example.com/shop",
    "query": f"jdbc:mysql://db.example.com/shop?user=ada&password={SECRET}",
    "Azure": f"https://x.blob.core.windows.net/a?sv=2024&sig={SECRET}",
    "Amazon": f"https://b.s3.amazonaws.com/a?X-Amz-Signature={SECRET}",
}


def test_every_error_class_has_sample_values() -> None:
    assert list(EXAMPLES) == list(CLASSES)


def test_the_texts_of_all_errors_are_those_of_the_golden_file() -> None:
    """Set PENSTOCK_TEST_GOLDEN=write to write the file, then read what changed."""
    texts = "\n\n".join(f"{name}\n{example(name)}" for name in EXAMPLES) + "\n"
    if os.environ.get("PENSTOCK_TEST_GOLDEN") == "write":
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(texts, encoding="utf-8")

    assert texts == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_an_error_masks_secrets_of_addresses_in_its_text_and_its_facts(text: str) -> None:
    error = errors.MissingLocation(destination="delta", master=text)

    assert SECRET not in f"{error} {error!r} {error.args} {error.hint} {vars(error)}"
    assert "***" in str(error)
    assert "example.com" in str(error) or "windows.net" in str(error) or "amazonaws.com" in str(error)
    assert SECRET not in str(vars(pickle.loads(pickle.dumps(error))))


def test_facts_that_are_set_later_and_facts_in_containers_are_masked() -> None:
    remember_secret(SECRET)
    error = errors.UsageError(
        f"no {SECRET}", hint=f"not {SECRET}", places=[(SECRET, 1), {"a": f"x {SECRET}"}], count=3
    )
    error.stage = f"load of {SECRET}"

    assert vars(error) == {
        "message": "no ***",
        "hint": "not ***",
        "places": [("***", 1), {"a": "x ***"}],
        "count": 3,
        "stage": "load of ***",
        "load_id": None,
    }


def test_facts_without_secrets_are_the_objects_that_were_passed() -> None:
    fields: dict[str, tuple[str, ...]] = {"a": ("b",)}
    error = errors.ConfigFieldMissing(spec="X", fields=fields)
    error.add_note("a note")

    assert error.fields is fields
    assert error.__notes__ == ["a note"]


ELSEWHERE = """
import pickle, sys
sys.modules["penstock"] = None
error = pickle.load(sys.stdin.buffer)("sc://host/;token=hush and magpie")
print(error)
"""


def test_errors_travel_to_executors_without_the_secrets_of_this_process() -> None:
    remember_secret(SECRET)

    code = serialize_by_value(errors.UsageError, *EXECUTOR_MODULES)
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], input=code, capture_output=True, check=True)

    assert SECRET.encode() not in code
    assert done.stdout.decode().splitlines() == ["sc://host/;token=*** and magpie", "  code: usage"]
