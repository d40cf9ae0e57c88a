"""Compilations as JAX reports them, their causes, and the programs behind them."""

# First: `jaxscope.background` listens as soon as jax is there, and imports the listener for that.
import jax  # noqa: F401 # pyright: ignore[reportUnusedImport]
