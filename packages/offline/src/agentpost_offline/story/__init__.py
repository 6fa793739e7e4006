"""Checked findings about tables, from which titles, reports and slides are written."""
