# A figure is drawn of what is known, and of NumPy data that the cell made.
# needs: plotly

# %% setup
import numpy as np, jax.numpy as jnp
import plotly.graph_objects as go
x = jnp.linspace(0, 1, 8)

# %% cell
grid = np.arange(8)
figure = go.Figure(go.Scatter(x=grid.tolist(), y=(grid**2).tolist(), name="squares"))
figure.update_layout(title=f"{len(grid)} points")
traces, title = len(figure.data), figure.layout.title.text
del figure
y = jnp.sin(x)

# %% change
x = x * 2
