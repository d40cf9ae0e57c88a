"""Live jaxprs as data: equations, tags, dataflow."""
