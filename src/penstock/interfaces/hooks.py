"""Hooks into runs: for metrics, alerts and lineage."""

from __future__ import annotations

from typing import Any


class RunHooks:
    """The events of a run; pass objects of this class to `penstock.pipeline(hooks=[...])`.

    Override the events that you need; an object that has only some of the methods and does not inherit works
    too. Hooks are called in the thread of the run. An error of a hook is logged and does not stop the run.

    >>> import penstock
    >>> class Alerts(penstock.RunHooks):
    ...     def on_failure(self, *, pipeline_name, step, error):
    ...         print(f"{pipeline_name} failed in {step}")
    >>> Alerts().on_failure(pipeline_name="shop", step="load", error=ValueError())
    shop failed in load
    """

    def on_run_start(self, *, pipeline_name: str, transaction_id: str) -> None:
        """Receive the start of a run."""

    def on_step_end(self, *, pipeline_name: str, step: str, load_id: str, report: Any) -> None:
        """Receive the report of a package that was extracted, normalized or loaded."""

    def on_failure(self, *, pipeline_name: str, step: str, error: BaseException) -> None:
        """Receive the failure of a step; only `run_ended` follows.

        `error` is the original exception, whose text may contain secrets.
        """

    def on_run_end(self, *, pipeline_name: str, trace: Any) -> None:
        """Receive the end of a run and its trace, without secrets."""


def call_hooks(hooks: tuple[Any, ...], method: str, **facts: Any) -> list[tuple[Any, Exception]]:
    """Call a method of all hooks that have it; return the hooks that raised, with their errors.

    >>> class Counts:
    ...     def on_run_start(self, **facts): print(facts["pipeline_name"])
    >>> call_hooks((Counts(),), "on_run_start", pipeline_name="shop")
    shop
    []
    >>> call_hooks((Counts(),), "on_run_end", pipeline_name="shop")
    []
    """
    failed: list[tuple[Any, Exception]] = []
    for hook in hooks:
        try:
            wanted = getattr(hook, method, None)
            if wanted is not None:
                wanted(**facts)
        except Exception as error:
            failed.append((hook, error))
    return failed
