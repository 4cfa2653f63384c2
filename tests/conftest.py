"""What all tests share: where continuous integration is set, a test that skips is a failure."""

import os

import pytest
from grading import jail_works  # noqa: F401  (a fixture)
from pages import address, axe, browser, open_page, page_address, site  # noqa: F401  (fixtures)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"CI may not skip a test; this one says: {reason}"
    return report
