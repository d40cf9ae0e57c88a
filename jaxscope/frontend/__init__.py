"""Requests of the browser to the kernel: texts, figures, widgets."""
