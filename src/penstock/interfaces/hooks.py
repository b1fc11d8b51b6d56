"""What somebody wants to hear of runs: metrics, alerts, lineage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class RunHooks:
    """Inherit, and write the methods that you want to be called; give it to `penstock.pipeline(hooks=[...])`.

    They are called in the thread of the run. One that raises is told in the log and stops nothing.

    >>> class Alerts(RunHooks):
    ...     def on_failure(self, *, pipeline_name, step, error):
    ...         print(f"{pipeline_name} failed in {step}")
    >>> Alerts().on_failure(pipeline_name="shop", step="load", error=ValueError())
    shop failed in load
    """

    def on_run_start(self, *, pipeline_name: str, transaction_id: str) -> None:
        """A run begins."""

    def on_step_end(self, *, pipeline_name: str, step: str, load_id: str, report: Any) -> None:
        """A package was extracted, normalized or loaded; the report says what came of it."""

    def on_failure(self, *, pipeline_name: str, step: str, error: Exception) -> None:
        """A step failed; nothing more comes of this run but its end."""

    def on_run_end(self, *, pipeline_name: str, trace: Any) -> None:
        """A run is over, well or not; the trace says all of it."""


def call_hooks(
    hooks: tuple[RunHooks, ...], call: Callable[[RunHooks], None]
) -> list[tuple[RunHooks, Exception]]:
    """Call each; gives those that raised, and what."""
    failed: list[tuple[RunHooks, Exception]] = []
    for one in hooks:
        try:
            call(one)
        except Exception as error:
            failed.append((one, error))
    return failed
