from harness.brokers_required import pytest_runtest_setup

__all__ = ["pytest_runtest_setup"]
