# A helper that assigns a variable of its closure would do it once, while it is traced.
# expect: refused "variable of a closure"

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
def make_counter():
    n = 0
    def count(v):
        nonlocal n
        n += 1
        return v * n
    return count
count = make_counter()

# %% cell
y = count(x)

# %% after
z = count(x)
