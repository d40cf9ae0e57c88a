# Drawing a traced array is an error; nothing is written.
# expect: refused "Tracer|exists only while tracing"
# needs: plotly

# %% setup
import plotly.graph_objects as go
import jax.numpy as jnp
x = jnp.linspace(0, 1, 8)

# %% cell
y = x * 2
figure = go.Figure(go.Scatter(x=x, y=y))
