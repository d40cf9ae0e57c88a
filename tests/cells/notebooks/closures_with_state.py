# Closures made by a factory of an earlier cell keep their own counters out of the cell.

# %% setup
import jax.numpy as jnp
def make_scale(factor):
    def scale(v, *, shift=0.0):
        return v * factor + shift
    return scale
double, triple = make_scale(2), make_scale(3)
pipeline = [double, triple, lambda v: v - 1]
x = jnp.arange(4.0)

# %% cell
y = x
for stage in pipeline:
    y = stage(y)
z = double(y, shift=0.5)

# %% change
pipeline = pipeline[::-1]
