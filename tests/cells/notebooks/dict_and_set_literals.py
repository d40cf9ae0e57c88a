# Unpacking in literals, dictionary union and set operations keep order and type.

# %% setup
import jax.numpy as jnp
base, x, tags = {"lr": 0.5, "n": 2}, jnp.ones(2), {"a", "b"}

# %% cell
config = {**base, "x": x, "n": 3} | {"last": None}
args = (*range(2), x, *"ab")
both = tags & {"b", "c"}
either = sorted(tags | {"c"})
nested = {("k", 1): [x, {"deep": x * 2}], None: {}}
removed = config.pop("last")
del config["n"]
first, *middle, last = args

# %% change
base = {"n": 1, "lr": 0.25, "extra": "e"}
