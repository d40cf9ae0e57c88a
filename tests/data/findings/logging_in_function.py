# A jitted function that logs does so while it is traced.
# fires: trace_time_side_effect line 3

# %% setup
import logging, jax.numpy as jnp
x = jnp.arange(3.0)
logger = logging.getLogger("quiet")
logger.addHandler(logging.NullHandler())
logger.propagate = False

# %% cell --decorate
def f(x):
    logger.info("f of %s", x)
    return x * 2

y = f(x)
