"""Two reports side by side, for a terminal, a notebook and a pull request."""
