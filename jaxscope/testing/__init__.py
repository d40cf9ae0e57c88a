"""Compile counts in tests."""
