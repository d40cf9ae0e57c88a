"""Causes of compilations, and groups of them."""
