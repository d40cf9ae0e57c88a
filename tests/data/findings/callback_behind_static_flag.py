# A callback behind a static flag that is off is not in the program.
# silent: callback

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(3.0)
debug = False

# %% cell
if debug:
    jax.debug.print("{x}", x=x)
y = x * 2
