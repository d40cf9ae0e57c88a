# Star arguments and keyword arguments come from input containers.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
args = (jnp.arange(3.0), 2.0)
kwargs = {"shift": jnp.asarray(1.0)}

def affine(v, k, *, shift):
    return v * k + shift

# %% cell
y = affine(*args, **kwargs)

# %% change
kwargs = {"shift": jnp.asarray(5.0)}
