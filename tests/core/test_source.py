"""The source of what a chapter imports, folded or open."""

from helpers import files
from helpers.explore import source


def doubled(x):
    return 2 * x


def test_source_is_shown_folded_or_open():
    code = "```python\ndef doubled(x):\n    return 2 * x\n```"
    assert source(doubled, folded=False).data == code
    folded = source(doubled).data
    assert folded.startswith("<details><summary>The code of <code>doubled</code></summary>\n\n")
    assert folded.removesuffix("\n\n</details>").endswith(code)


def test_a_module_goes_by_its_last_name():
    shown = source(files).data
    assert shown.startswith("<details><summary>The code of <code>files</code></summary>")
    assert "\ndef write_text(path" in shown
