"""Plotly figures, one file a family of charts. Importing one needs plotly."""
