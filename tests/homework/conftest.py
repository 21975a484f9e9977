"""The sandbox, without which its tests are left out."""

import os

import pytest

from homework.run import sandbox


@pytest.fixture(scope="session")
def bubblewrap():
    """A sandbox that starts; where there is none, what asks for it is left out, on CI it fails."""
    try:
        sandbox.check()
        sandbox.check_python()
    except sandbox.SandboxError as error:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(str(error))
