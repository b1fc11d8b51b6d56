"""A server of reports for this machine: it reads, and answers only requests to itself."""

from __future__ import annotations

import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote, urlsplit

from penstock.cli.output import mask_secrets
from penstock.cli.overview import pipeline_summary
from penstock.cli.pipeline_options import PipelineRef
from penstock.cli.report import pipeline_report
from penstock.cli.report_page import report_page, run_result, short_time
from penstock.config import logger, redact
from penstock.errors import PenstockError
from penstock.interfaces.humanize import human_count
from penstock.pages.elements import element, fragment, table_element
from penstock.pages.page import page
from penstock.pipeline.local_pipeline import local_pipelines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from penstock.pages.elements import Content, Html

LOCAL_ADDRESS: Final = "127.0.0.1"
_HOSTS: Final = (LOCAL_ADDRESS, "localhost")
_HEADERS: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_LOG = logger("penstock.cli")


class ReportServer(ThreadingHTTPServer):
    """Serves the reports on the pipelines of a folder to browsers on this machine."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0) -> None:
        """With port 0 the system chooses a free one."""
        super().__init__((LOCAL_ADDRESS, port), _ReportHandler)
        self.folder = folder
        self.hosts = frozenset(f"{host}:{self.server_port}" for host in _HOSTS)
        # The settings and the current pipeline belong to the process, not to a thread.
        self.reading = threading.Lock()

    @property
    def url(self) -> str:
        """The address of the list of pipelines."""
        return f"http://{LOCAL_ADDRESS}:{self.server_port}/"

    def page(self, path: str) -> Html | None:
        """Return the page of a path; None if there is none."""
        name = unquote(path.removeprefix("/"))
        if not name:
            return _index_page(self.folder)
        # A name that leads out of the folder is none of those that are listed.
        if name not in {local.name for local in local_pipelines(self.folder)}:
            return None
        with self.reading:
            return report_page(pipeline_report(PipelineRef(name=name, pipelines_dir=self.folder).open()))


class _ReportHandler(BaseHTTPRequestHandler):
    server: ReportServer
    server_version, sys_version = "penstock", ""

    def do_GET(self) -> None:
        self._send(with_body=True)

    def do_HEAD(self) -> None:
        self._send(with_body=False)

    def _send(self, *, with_body: bool) -> None:
        status, content = self._response()
        body = content.encode("utf-8")
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _response(self) -> tuple[HTTPStatus, Html]:
        # A page of another site that has this address under its own name is refused.
        if self.headers.get("Host") not in self.server.hosts:
            return HTTPStatus.MISDIRECTED_REQUEST, _message_page(
                "This host is not served", "Open", self.server.url
            )
        try:
            content = self.server.page(urlsplit(self.path).path)
        except (PenstockError, OSError) as error:
            return HTTPStatus.INTERNAL_SERVER_ERROR, _message_page(
                "The report cannot be read", redact(str(error))
            )
        if content is None:
            return HTTPStatus.NOT_FOUND, _message_page("There is no such pipeline", "See", self.server.url)
        return HTTPStatus.OK, content

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is that of the argument
        _LOG.debug(format, *args)


def _index_page(folder: Path) -> Html:
    summaries = mask_secrets([pipeline_summary(local) for local in local_pipelines(folder)])
    rows = [_index_row(summary) for summary in summaries]
    content = (
        table_element("Pipelines", ("pipeline", "destination", "dataset", "last run (UTC)", "result"), rows)
        if rows
        else element("p", "There are no pipelines.")
    )
    return page(
        "Pipelines",
        header=element("p", f"{human_count(len(rows), 'pipeline')} in {folder}"),
        sections=[("pipelines", "Reports", content)],
        footer=element("p", "Only this machine can open these pages."),
    )


def _index_row(summary: Mapping[str, Any]) -> list[Content]:
    name, run = summary["pipeline_name"], summary["last_run"]
    return [
        element("a", name, href=quote(name)),
        summary["destination"],
        summary["dataset_name"],
        None if run is None else short_time(run["started_at"]),
        summary["problem"] or (None if run is None else run_result(run)),
    ]


def _message_page(title: str, text: str, url: str | None = None) -> Html:
    link = None if url is None else element("a", url, href=url)
    return page(title, header=element("p", fragment(text, " ", link)), sections=[], footer=None)
