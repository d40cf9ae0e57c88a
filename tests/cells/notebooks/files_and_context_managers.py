# Files, temporary directories, redirected output and suppressed errors in nested `with`.

# %% setup
import contextlib, io, json, pathlib, tempfile
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as caught:
    path = pathlib.Path(folder) / "a.json"
    path.write_text(json.dumps({"n": x.shape[0]}))
    print("inside", path.exists())
    read = json.loads(path.read_text())
with contextlib.suppress(KeyError):
    read["missing"]
    y = "never"
y = x * read["n"]
text = caught.getvalue()
del folder, path, caught

# %% change
x = jnp.arange(5.0)
