# Recursion on Python integers beside arrays.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def power(v, n): return v if n == 0 else power(v * 2, n - 1)

rows = [fib(10), power(x, 3), x * fib(5)]

# %% change
x = x + 1
