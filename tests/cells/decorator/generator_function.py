# A generator function cannot be jitted.
# expect: same or refused "generator|yield|trac"
# may differ: rows entry-point-becomes-jitted

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def rows(v):
    for i in range(2):
        yield v * i

ys = list(rows(x))

# %% change
x = x + 1

# %% after
z = x + 1
