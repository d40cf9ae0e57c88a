# A traced array has no device; the array has.
# expect: refused "has no `device`: ask the result for it"
# line: 2

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
place = x.device

# %% after
place = str(x.device)
