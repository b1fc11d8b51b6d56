from __future__ import annotations

import inspect
import pickle
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.rule_assertions import assert_no_offenders
from tests.unit.error_examples import CLASSES, EXAMPLES, WITH_FACTS, example

from penstock import errors
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"


def drawn_tree() -> dict[str, str | None]:
    """Return each class of the drawing with its base class, in the order of the drawing."""
    tree: dict[str, str | None] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.fullmatch(r"([│├└─ ]*)([A-Z]\w+)(: .+)?", line)
        if match is None or (not match[1] and match[2] != "PenstockError"):
            continue
        depth = len(match[1]) // 4
        above[depth:] = [match[2]]
        tree[match[2]] = above[depth - 1] if depth else None
    return tree


@cache
def sections() -> dict[str, tuple[int, str]]:
    """Return each heading of the page below the title, with its level and the text under it."""
    parts = re.split(r"^(#{2,6}) (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {parts[at + 1]: (len(parts[at]), parts[at + 2]) for at in range(1, len(parts), 3)}


def test_the_drawn_tree_is_the_tree_of_classes() -> None:
    real = {
        name: error.__bases__[0].__name__ if error is not PenstockError else None
        for name, error in CLASSES.items()
    }

    assert drawn_tree() == real


def test_the_drawing_keeps_the_order_of_the_file() -> None:
    assert list(drawn_tree()) == list(CLASSES)


def pickling_faults(name: str) -> Iterator[str]:
    """Yield what a copy of the example by pickle has lost or changed."""
    error = example(name)
    error.stage, error.load_id = "load", "1794709965.511098"
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception as failure:  # every failure of a class is to be listed
        yield f"{name} cannot be pickled: {failure!r}"
        return
    if type(copy) is not CLASSES[name]:
        yield f"{name} becomes {type(copy).__name__}"
    for fact in ("__dict__", "args"):
        if getattr(copy, fact) != getattr(error, fact):
            yield f"{name}.{fact} becomes {getattr(copy, fact)!r}, from {getattr(error, fact)!r}"
    if str(copy) != str(error):
        yield f"the text of {name} becomes {str(copy)!r}, from {str(error)!r}"


def test_every_error_survives_pickling_with_its_facts() -> None:
    assert_no_offenders(
        (fault for name in EXAMPLES if name != "PipelineStepFailed" for fault in pickling_faults(name)),
        "pass the facts to `PenstockError.__init__`, or give the class a `__reduce__`",
    )


def test_a_failed_step_survives_pickling_without_its_pipeline() -> None:
    error = example("PipelineStepFailed")

    copy = pickle.loads(pickle.dumps(error))

    assert (str(copy), copy.load_id, copy.step) == (str(error), error.load_id, "load")
    assert copy.is_retryable
    assert isinstance(copy.exception, errors.SlotTaken)
    assert copy.pipeline is None


def test_every_argument_of_an_error_is_an_attribute_of_it() -> None:
    assert_no_offenders(
        (
            f"{name}.{fact} is {vars(error).get(fact)!r}, given {value!r}"
            for name, error in ((name, example(name)) for name in WITH_FACTS)
            for fact, value in EXAMPLES[name].items()
            if vars(error).get(fact) != value
        ),
        "set the attribute in `__init__`",
    )


def test_an_error_has_its_stage_its_hint_and_its_code() -> None:
    with pytest.raises(PenstockError) as caught, errors.in_stage("load", load_id="17.5"):
        raise errors.CommitLost(table="orders", sequence=3)

    assert str(caught.value) == (
        "orders has no commit with sequence 3, although it was written (in load, package 17.5)\n"
        "  what to do: run again: the sealed package continues where it stopped\n"
        "  code: commit-lost"
    )


def test_the_first_stage_to_see_an_error_names_it() -> None:
    with (
        pytest.raises(PenstockError) as caught,
        errors.in_stage("run", load_id="2"),
        errors.in_stage("extract", load_id="1"),
    ):
        raise errors.DataError("bad")

    assert (caught.value.stage, caught.value.load_id) == ("extract", "1")


def test_error_codes_are_unique() -> None:
    codes = [error.code for error in CLASSES.values()]

    assert len(set(codes)) == len(codes)
    assert [name for name, error in CLASSES.items() if "code" not in vars(error)] == []


def test_the_headings_of_the_page_are_the_codes() -> None:
    levels = {
        error.code: 3 if error.__base__ not in (PenstockError, Exception) else 2 for error in CLASSES.values()
    }

    assert {code: level for code, (level, _) in sections().items()} == levels


def test_the_page_keeps_the_order_of_the_file() -> None:
    assert list(sections()) == [error.code for error in CLASSES.values()]


def page_text(code: str) -> str:
    """Return the section of the page for a code; empty where the page lacks it."""
    return sections().get(code, (0, ""))[1]


def test_the_page_shows_the_message_of_every_error() -> None:
    assert_no_offenders(
        (
            f"docs/errors.md, {error.code}:\n{error}"
            for error in map(example, EXAMPLES)
            if f"```text\n{error}\n```" not in page_text(error.code)
        ),
        "show these messages in the section of their code",
    )


def test_the_page_names_every_fact_of_every_error() -> None:
    assert_no_offenders(
        (
            f"docs/errors.md, {CLASSES[name].code}: `{fact}`"
            for name in WITH_FACTS
            for fact in inspect.signature(CLASSES[name]).parameters
            if f"`{fact}`" not in page_text(CLASSES[name].code)
        ),
        "describe the fact in the section of the code",
    )
