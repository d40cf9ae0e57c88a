"""Chapters that only some programs have."""
