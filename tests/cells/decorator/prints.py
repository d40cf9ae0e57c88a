# A print in a jitted function prints while it is traced; that is documented.
# may differ: stdout print-shows-tracer
# may differ: f entry-point-becomes-jitted

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(v):
    print("inside", v)
    return v * 2

y = f(x)

# %% change
x = x + 1
