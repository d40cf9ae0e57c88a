# A list and a dictionary that the cell fills itself.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
rows, table = [], {}
for i in range(3):
    rows.append(x * i)
    table[f"row {i}"] = rows[-1] + 1
rows[0] = rows[0] + 5
rows += [x]
del table["row 1"]
table.update(extra=rows.pop())

# %% change
x = x + 1
