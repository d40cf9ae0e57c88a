# A new dictionary shares the parts that it took over.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
state = {"params": {"w": jnp.arange(3.0)}, "history": ["start"], "step": 0}

# %% cell
new = {**state, "params": {"w": state["params"]["w"] * 2}, "step": state["step"] + 1}
y = new["params"]["w"] + 1

# %% change
state["history"].append("changed")

# %% after
shared = new["history"] is state["history"]
