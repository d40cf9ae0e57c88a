# An exception after an input was changed in place: the change is undone too.
# expect: raises KeyError "absent"

# %% setup
import jax.numpy as jnp
d = {"w": jnp.arange(3.0), "inner": [1, 2]}
rows = [jnp.ones(2)]
x = jnp.ones(3)

# %% cell
d["inner"].append(3)
d["step"] = 4
rows.append(x * 2)
d["w"] = None
{}["absent"]

# %% after
z = d["w"] + len(d["inner"]) + len(rows)
