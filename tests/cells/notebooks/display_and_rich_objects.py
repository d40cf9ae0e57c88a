# An object with its own rich display is the output of the cell.

# %% setup
import jax.numpy as jnp
x = jnp.ones(2)
class Badge:
    def __init__(self, text):
        self.text = text
    def _repr_html_(self):
        return f"<b>{self.text}</b>"
    def __eq__(self, other):
        return self.text == other.text
    __hash__ = None

# %% cell
y = x + 1
Badge(f"{y.shape}")
