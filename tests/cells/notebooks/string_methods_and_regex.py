# Text processing beside arrays: regular expressions, joins, templates, bytes.

# %% setup
import re, textwrap
import jax.numpy as jnp
x, text = jnp.ones(3), "lr=0.1, steps=20, name=adam"

# %% cell
pairs = dict(re.findall(r"(\w+)=([^,]+)", text))
steps = int(pairs["steps"])
y = x * steps * float(pairs["lr"])
wrapped = textwrap.shorten(text, 12)
raw = text.encode()[:3] + b"\x00"
multi = """%d {not a format} $HOME
!not a shell line"""
title = pairs["name"].title().center(10, "*")

# %% change
text = "steps=3, lr=2, name=sgd"
