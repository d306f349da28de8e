"""What every test may ask for: repeatable random numbers and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import settings

from browser import WHAT_TO_DO, find

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# The same examples in every run: a red test is red again on the next machine.
settings.register_profile("book", derandomize=True, deadline=None, database=None)
settings.load_profile("book")

# Two workers on two cores: more threads only wait for one another.
torch.set_num_threads(1)

# Each page has a window of its own, and with it two more processes for parts of a window that is
# never seen: they cost more than the page. The list takes the place of Playwright's, so it holds
# that as well.
UNUSED = [
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"),
    *("PreloadTopChromeWebUI", "SpareRendererForSitePerProcess"),
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"),
    *("HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding"),
    *("ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "AimEnabled"),
    *("TcpPortRandomizationWin", "OptimizationHints", "NetworkTimeServiceQuerying"),
    "PreconnectToSearch",
]
QUIET = [
    f"--disable-features={','.join(UNUSED)}",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests by what they need: a browser or the built book, or plain functions.

    Under jaxtyping leave out what it refuses before we do, and what cannot read its wrappers.
    """
    typed = config.getoption("jaxtyping_packages", None)
    for item in items:
        if {"chromium", "site"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("browser")
        if typed and (item.get_closest_marker("bad_input") or item.get_closest_marker("compiled")):
            item.add_marker(pytest.mark.skip(reason="not under jaxtyping"))


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the browser; a machine without one fails, it does not skip."""
    path = find()
    if path is None:
        pytest.fail(WHAT_TO_DO)
    return path


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """One headless Chromium for the session; each test opens its own context or page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=chromium, chromium_sandbox=False, args=QUIET
        )
        yield running
        running.close()
