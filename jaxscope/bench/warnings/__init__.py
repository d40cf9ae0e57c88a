"""Warnings about a measured row: its rounds, its results, its program."""
