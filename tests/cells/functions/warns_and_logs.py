# Functions that warn and log do it once a call.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import logging, warnings

seen = []
class Keep(logging.Handler):
    def emit(self, record): seen.append(record.getMessage())
logger = logging.getLogger("jaxscope.cell")
logger.handlers, logger.propagate = [Keep()], False

def f(v):
    logger.warning("shape %s", v.shape)
    warnings.warn("old")
    return v * 2

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    rows = [f(x), f(x)]
count = len([w for w in caught if str(w.message) == "old"])
del Keep, logger, caught

# %% change
x = x + 1
