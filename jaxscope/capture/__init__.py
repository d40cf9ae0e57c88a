"""Runs things under JAX and records what happened: cells, stages, events, times.

Nothing here is imported before jax is; private names of JAX are touched in `_jax` alone.
"""
