"""A commit by reference and a statement of Spark never commit to the same table at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from penstock.destinations.delta.commit_gate import CommitGate


def test_a_statement_begins_after_a_commit_by_reference() -> None:
    gate, events = CommitGate(), list[str]()
    begun = threading.Event()

    def statement() -> None:
        begun.set()
        with gate.statement("t"):
            events.append("statement")

    with ThreadPoolExecutor(1) as pool:
        with gate.reference("t") as is_open:
            running = pool.submit(statement)
            assert begun.wait(60)
            with gate.statement("another table"):
                events.append("commit")
        running.result(60)

    assert (is_open, events) == (True, ["commit", "statement"])


def test_a_commit_by_reference_does_not_wait_for_statements() -> None:
    gate = CommitGate()

    with gate.statement("t"):
        with gate.statement("t"):
            pass
        with gate.reference("t") as during, gate.reference("another table") as elsewhere:
            pass
    with gate.reference("t") as after:
        pass

    assert (during, elsewhere, after) == (False, True, True)


def test_they_exclude_each_other_in_many_threads() -> None:
    gate, statements, references, wrong = CommitGate(), [0], [0], list[str]()
    lock = threading.Lock()

    def change(counter: list[int], by: int) -> None:
        with lock:
            counter[0] += by
            if (statements[0] and references[0]) or references[0] > 1:
                wrong.append("both")

    def run(number: int) -> None:
        for _ in range(200):
            if number % 2:
                with gate.statement("t"):
                    change(statements, 1)
                    change(statements, -1)
            else:
                with gate.reference("t") as is_open:
                    if is_open:
                        change(references, 1)
                        change(references, -1)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(run, range(6)))

    assert wrong == []
