# Annotations with and without values at module level; the annotated name alone is not bound.

# %% setup
import jax, jax.numpy as jnp
from typing import Any, Optional
x: jax.Array = jnp.ones(2)

# %% cell
rate: float = 0.5
later: int
values: list[jax.Array] = [x, x * 2]
table: dict[str, Any] = {}
table["n"] = len(values)
maybe: Optional[int] = None
y: "jax.Array" = values[-1] * 3

# %% change
x = jnp.ones(3)
