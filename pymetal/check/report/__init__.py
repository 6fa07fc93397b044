"""The report of a run as one HTML page."""

from pymetal.check.report.page import write_report

__all__ = ["write_report"]
