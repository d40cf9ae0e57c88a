"""Data for a front end: payload and page."""
