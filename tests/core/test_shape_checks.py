"""Annotations are checked in notebooks and tests; a slip in a notebook is told by its message."""

import os
import subprocess
import sys

import pytest
from tiny import python

from helpers import shape_checks

NOTEBOOK = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
shell.run_cell('''
import torch
from helpers.attention import attention_steps
from helpers.embeddings import CBOW
from helpers.interpret import lens
q = k = v = torch.ones(4, 3)
''')
for cell in CELLS:
    print("=====")
    shell.run_cell(cell)
"""
SLIPS = {  # cell: the argument, what it must be, what it is
    "attention_steps(q, k.T, v)": ("k", "Tk D", "f32[3,4]"),
    "CBOW(5, 2, generator=torch.Generator())(torch.ones(2, 3))": ("ids_BW", "Int", "f32[2,3]"),
    "attention_steps(q.numpy(), k, v)": ("q", "Tensor", "f32[4,3](numpy)"),
    "lens(torch.nn.Identity(), torch.ones(4, 3))": ("x_BTC", "B T C", "f32[4,3]"),
    "attention_steps(q, k, v, mask=torch.ones(4, 4).long())": ("mask", "Bool", "i64[4,4]"),
}


def test_a_slip_in_a_notebook_names_the_argument_and_both_shapes():
    _, *shown = python("-c", f"CELLS = {list(SLIPS)!r}\n{NOTEBOOK}").stdout.split("=====\n")
    for (name, expected, given), message in zip(SLIPS.values(), shown, strict=True):
        assert "Traceback" not in message
        told = message.partition("------")[0]  # below it stand all arguments
        for part in (f"parameter '{name}'", expected, f"Actual value: {given}"):
            assert part in told, message


@pytest.mark.parametrize(("setting", "checked"), [(None, False), ("1", True), ("0", False)])
def test_a_script_is_checked_only_if_asked(setting, checked):
    code = (
        "import torch; from helpers.embeddings import quantised; quantised(torch.ones(1, 2), 4.0)"
    )
    variables = {} if setting is None else {shape_checks.VARIABLE: setting}
    environment = {k: v for k, v in os.environ.items() if k != shape_checks.VARIABLE} | variables
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert (done.returncode != 0) == checked
