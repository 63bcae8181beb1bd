"""Reports for programs: ``csv`` and ``json``. They carry the figures behind what the pages say."""

from penstock.apps.website_analysis.report.as_csv import csv
from penstock.apps.website_analysis.report.as_json import json

__all__ = ["csv", "json"]
