"""Workbooks and CSV: cleaned, pivoted, joined."""
