# An int traced by `-t` cannot be a shape.
# expect: refused "TypeError|Concretization|trac"

# %% setup
import jax.numpy as jnp
n = 3

# %% cell -t n
y = jnp.zeros(n)

# %% after
z = n * 2
