"""What somebody wants to hear of runs: metrics, alerts, lineage."""

from __future__ import annotations

from typing import Any


class RunHooks:
    """What is called in a run; give such objects to `penstock.pipeline(hooks=[...])`.

    Inherit, and write the methods that you want to be called. An object that has some of them and does not
    inherit works too. They are called in the thread of the run. One that raises is told in the log and stops
    nothing.

    >>> import penstock
    >>> class Alerts(penstock.RunHooks):
    ...     def on_failure(self, *, pipeline_name, step, error):
    ...         print(f"{pipeline_name} failed in {step}")
    >>> Alerts().on_failure(pipeline_name="shop", step="load", error=ValueError())
    shop failed in load
    """

    def on_run_start(self, *, pipeline_name: str, transaction_id: str) -> None:
        """A run begins."""

    def on_step_end(self, *, pipeline_name: str, step: str, load_id: str, report: Any) -> None:
        """A package was extracted, normalized or loaded; the report says what came of it."""

    def on_failure(self, *, pipeline_name: str, step: str, error: BaseException) -> None:
        """A step failed or was stopped; nothing more comes of this run but its end.

        `error` is what was raised, as it was raised: others may have put secrets into it.
        """

    def on_run_end(self, *, pipeline_name: str, trace: Any) -> None:
        """A run is over, well or not; the trace says all of it, without secrets."""


def call_hooks(hooks: tuple[Any, ...], method: str, **facts: Any) -> list[tuple[Any, Exception]]:
    """Call a method of each that has it; gives those that raised, and what.

    >>> class Counts:
    ...     def on_run_start(self, **facts): print(facts["pipeline_name"])
    >>> call_hooks((Counts(),), "on_run_start", pipeline_name="shop")
    shop
    []
    >>> call_hooks((Counts(),), "on_run_end", pipeline_name="shop")
    []
    """
    failed: list[tuple[Any, Exception]] = []
    for one in hooks:
        try:
            wanted = getattr(one, method, None)
            if wanted is not None:
                wanted(**facts)
        except Exception as error:
            failed.append((one, error))
    return failed
