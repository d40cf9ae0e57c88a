# Another name for an input container is that container.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
d = {"inner": {"w": jnp.arange(3.0)}, "list": [jnp.ones(2), 1]}

# %% cell
same = d
inner = d["inner"]
pair = [d["list"], d["list"]]
y = inner["w"] * 2

# %% change
d["inner"]["w"] = jnp.ones(3)

# %% after
inner["w"] = "seen by all"
