# JSON of a computed value: a tracer has no data.
# expect: refused "has no data to write: write the result, in a cell without the magic"
# line: 3

# %% setup
import json
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x.sum()
text = json.dumps({"y": y})

# %% after
y = x.sum()
text = json.dumps({"y": float(y)})
