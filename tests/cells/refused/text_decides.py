# A branch that a traced value's text decides, through the text of its container.
# expect: refused "uses the text of a traced value"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
both = {"total": x.sum()}
if "nan" in f"{both}" or repr(both["total"]).startswith("0"):
    x = x * 0
y = x + 1

# %% after
w = x + 1
