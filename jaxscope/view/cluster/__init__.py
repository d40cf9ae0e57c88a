"""The processes of a cluster as documents."""
