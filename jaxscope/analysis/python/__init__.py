"""The user's Python as syntax: names, scopes, control flow."""
