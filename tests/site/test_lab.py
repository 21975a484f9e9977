"""A chapter in JupyterLab, driven in a browser: its explorer is a true ipywidgets control.

The page of the site shows stored frames; here a kernel computes each. What it says at a position
is held to the sentence that is stored for it, which `make test` recomputes in another kernel.
"""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
CHAPTER = ROOT / "notebooks" / "05_attention_by_hand.ipynb"
EXPLORER = "explore-query"  # the id of its cell


@pytest.fixture(scope="module")
def stored() -> dict[tuple[str, str], str]:
    """The sentences of the chapter's first explorer, by what its two sliders show."""
    cells = nbformat.read(CHAPTER, as_version=4).cells
    (cell,) = (cell for cell in cells if cell.id == EXPLORER)
    _, *lines = cell.outputs[0]["data"]["text/plain"].splitlines()
    form = re.compile(r"angle of the query \(degrees\) (\S+), length of the query (\S+): (.*)")
    return {(found[1], found[2]): found[3] for found in map(form.fullmatch, lines)}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab with the chapter's cells up to its explorer, not yet run; gives its address."""
    home = tmp_path_factory.mktemp("lab")
    notebook = nbformat.read(CHAPTER, as_version=4)
    last = next(at for at, cell in enumerate(notebook.cells) if cell.id == EXPLORER)
    notebook.cells = [cell for cell in notebook.cells[: last + 1] if cell.cell_type == "code"]
    for cell in notebook.cells:
        cell.outputs, cell.execution_count = [], None
    (home / "work").mkdir()
    nbformat.write(notebook, home / "work" / "chapter.ipynb")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "jupyter",
            "lab",
            "--no-browser",
            "--allow-root",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0",
            "--IdentityProvider.token=",
            f"--ServerApp.root_dir={home / 'work'}",
        ],
        env={**_environment(), "HOME": str(home), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}/lab/tree/chapter.ipynb"
    try:
        _wait_for(address, server)
        yield address
    finally:
        server.terminate()
        server.wait(30)


def _environment() -> dict[str, str]:
    """Without what makes outputs static, and without the user's own settings of Jupyter."""
    unwanted = re.compile(r"BOOK_STATIC|JUPYTER_.*|IPYTHONDIR")
    return {name: value for name, value in os.environ.items() if not unwanted.fullmatch(name)}


def _wait_for(address: str, server: subprocess.Popen) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        assert server.poll() is None, "JupyterLab does not start"
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.25)
    pytest.fail("JupyterLab does not answer")


@pytest.mark.nightly
def test_the_explorer_is_a_live_control_in_a_kernel(lab, page, stored):
    page.set_default_timeout(90_000)
    page.goto(lab)
    page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell").first.wait_for()
    page.get_by_text(re.compile(r"\| Idle$")).wait_for()  # else it asks for a kernel
    page.locator(".lm-MenuBar-itemLabel", has_text="Run").click()
    page.locator(".lm-Menu-itemLabel", has_text=re.compile("^Run All Cells$")).click()
    sliders = page.locator(".widget-interact [role=slider]")
    sliders.nth(1).wait_for()
    assert sliders.count() == 2
    assert page.locator("figure.explore").count() == 0, "stored frames in a live kernel"
    said = page.locator(".jp-OutputArea-output p", has_text="The query reads")
    picture = page.locator(".widget-interact :is(img, .jp-RenderedSVG)")

    def shown() -> tuple[str, str]:
        first, second = page.locator(".widget-interact .widget-readout").all_inner_texts()
        return first.strip(), second.strip()

    def check() -> str:
        """The sentence becomes the stored one of this position; gives the picture."""
        page.get_by_text(stored[shown()], exact=True).wait_for()
        assert said.count() == 1
        return picture.last.evaluate("picture => picture.outerHTML")

    page.wait_for_function(
        "is => [...document.querySelectorAll('.widget-readout')].map(e => e.innerText.trim())"
        ".join() === is",
        arg="60,2",
    )
    pictures = [check()]
    for slider, key, position in (
        (0, "ArrowRight", ("75", "2")),
        (1, "ArrowRight", ("75", "4")),
        (0, "ArrowLeft", ("60", "4")),
    ):
        sliders.nth(slider).focus()
        page.keyboard.press(key)
        page.wait_for_function(
            "([at, t]) => document.querySelectorAll('.widget-readout')[at].innerText.trim() == t",
            arg=[slider, position[slider]],
        )
        assert shown() == position
        pictures.append(check())
    assert len(set(pictures)) == 4, "the picture does not follow the sliders"
