"""Batching, as JAX applied it."""
