"""Targets: their names and data sheets, and what their compilers write about a program."""
