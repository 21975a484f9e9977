"""The built site on a local server, and a browser to look at it.

Fixtures: `site_url` (the server), `browser` (one Chromium), `page` (a fresh page), `visit` (opens
a page of the site and records what goes wrong on it). The tests do not build: `make test` does,
or `make book` by hand.
"""

import contextlib
import functools
import gzip
import http.server
import io
import os
import sys
import threading
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import sync_playwright

from book.browser import FLAGS, MISSING, chromium

TEXT = {".html", ".css", ".js", ".svg", ".json"}
HTML = Path(__file__).parents[2] / "_build" / "html"
sys.path.append(str(HTML.parents[1] / "book" / "_ext"))  # tests import what makes the pages


def site_pages() -> list[str]:
    """Return the paths of all built pages, the redirect at the root excepted."""
    pages = sorted(file.relative_to(HTML).as_posix() for file in HTML.rglob("*.html"))
    return [page for page in pages if page != "index.html" and not page.startswith("_")]


def pytest_generate_tests(metafunc):
    if "path" in metafunc.fixturenames:
        # Of a module, so that all its tests of a page run one after the other and may share it.
        metafunc.parametrize("path", site_pages() or ["(no site)"], scope="module")


@pytest.fixture(scope="session")
def html_root() -> Path:
    if not (HTML / "index.html").exists():
        pytest.fail("there is no built site in _build/html; run `make book` first", pytrace=False)
    return HTML


class Compressing(http.server.SimpleHTTPRequestHandler):
    """Sends text compressed, as servers of sites do."""

    def send_head(self):
        path = Path(self.translate_path(self.path))
        takes = "gzip" in self.headers.get("Accept-Encoding", "")
        if not (takes and path.is_file() and path.suffix in TEXT):
            return super().send_head()
        body = gzip.compress(path.read_bytes(), compresslevel=6, mtime=0)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return io.BytesIO(body)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def site_url(html_root):
    """Serve the built site and give its address, without a slash at the end."""
    handler = functools.partial(Compressing, directory=str(html_root))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The browser's path; where there is none, what asks for it is left out, on CI it fails."""
    path = chromium()
    if path is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(MISSING)
    return path


@pytest.fixture(scope="session")
def browser(chromium_path):
    """Start one Chromium for all tests."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def no_page_hangs():
    """After ten minutes kill all pages: a test that waits for one then fails and is tried again."""

    def end():
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if "--type=renderer" in child.cmdline():
                    child.kill()

    timer = threading.Timer(600, end)
    timer.daemon = True
    timer.start()
    yield
    timer.cancel()


@pytest.fixture
def page(browser):
    """Give a fresh page in a context of its own (no stored guesses, light colours)."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    context.close()


@pytest.fixture(scope="session")
def watched():
    """Return a function that gives a growing list of what goes wrong on a page from now on.

    What begins with one of the places may be asked for, and nothing else.
    """

    def watch(page, *places: str) -> list[str]:
        problems = []
        here = (*places, "data:", "blob:")

        def note(kind: str, found) -> None:
            problems.append(f"{kind}: {found}")

        page.on("pageerror", lambda error: note("error", error))
        page.on("requestfailed", lambda request: note("failed", request.url))
        page.on("console", lambda said: said.type == "error" and note("console", said.text))
        page.on("response", lambda answer: answer.status >= 400 and note("missing", answer.url))
        page.on("request", lambda asked: asked.url.startswith(here) or note("left", asked.url))
        return problems

    return watch


@pytest.fixture
def visit(page, site_url, watched):
    """Return a function that opens a page and gives a growing list of what went wrong on it."""

    def go(path: str) -> list[str]:
        problems = watched(page, f"{site_url}/")
        page.goto(f"{site_url}/{path}", wait_until="load")
        page.evaluate("() => document.fonts.ready.then(() => null)")
        return problems

    return go
