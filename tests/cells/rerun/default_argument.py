# A helper's mutable default is changed between the runs.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

def scaled(v, factors=[2.0]):
    return v * factors[0]

# %% cell
y = scaled(x)

# %% change
scaled.__defaults__[0][0] = 9.0
