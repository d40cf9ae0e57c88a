# Assignment expressions in `while`, in a comprehension's condition and in a call.

# %% setup
import jax.numpy as jnp
x, limit = jnp.arange(3.0), 4

# %% cell
steps = 0
while (steps := steps + 1) < limit:
    x = x + steps
kept = [v for i in range(5) if (v := i * i) % 2 == 0]
y = jnp.sum(w := x * 2)
print(f"{steps=} {kept}")

# %% change
limit = 2
