# An error of JAX inside a function is the same error.
# expect: fails TypeError "dot_general requires"

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return v @ jnp.ones((4, 4))

y = f(x)
