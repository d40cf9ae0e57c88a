# A logger that is looked up where it is used.
# fires: trace_time_side_effect line 4

# %% setup
import jax, jax.numpy as jnp, logging
x = jnp.arange(8.0)

# %% cell --decorate
@jax.jit
def f(x):
    logging.getLogger("train").info("step")
    return x * 2

y = f(x)
