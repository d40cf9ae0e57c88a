"""The batched equations of a program under `vmap`, and their batching results by line."""
