# Text of traced values that is only shown: printed, joined or in the message of an assertion.
# may differ: stdout print-shows-tracer

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
print("y:", y, f"{y}", "%s" % y, ", ".join(str(v) for v in (x, y)))
print("shape " + str(y.shape))
assert y.shape == (3,), f"wrong shape of {y}"

# %% after
w = x + 1
