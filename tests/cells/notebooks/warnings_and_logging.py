# Warnings and log records are made while the cell runs, once.

# %% setup
import logging, warnings
import jax.numpy as jnp
x = jnp.ones(2)
class Keep(logging.Handler):
    def emit(self, record):
        print("log", record.getMessage())
def log(*words):
    one = logging.getLogger("cells")
    one.handlers[:], one.propagate = [Keep()], False
    one.setLevel("INFO")
    one.info(*words)

# %% cell
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("careful")
messages = [str(w.message) for w in caught]
del caught
log("shape %s", x.shape)
y = x * 2

# %% change
x = jnp.ones(3)
