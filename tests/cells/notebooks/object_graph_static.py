# Objects without arrays are passed to helpers, compared and copied in the cell.

# %% setup
import copy, types
import jax.numpy as jnp
config = types.SimpleNamespace(depth=2, names=["a", "b"], nested={"k": (1, 2)})
x = jnp.ones(2)

# %% cell
local = copy.deepcopy(config)
local.depth += 1
local.names.append("c")
local.nested["new"] = "k"
y = x * local.depth + len(config.names)
differ = local.names != config.names, vars(config)["depth"]

# %% change
config.depth = 7
