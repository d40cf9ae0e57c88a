# A jitted factory: its result is no array, and no argument is to blame.
# expect: refused "A traced function returns arrays"
# line: 2

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)
def make(v):
    return lambda w: w * 2

# %% cell
double = jax.jit(make)(x)

# %% after
double = make(x)
y = double(x)
