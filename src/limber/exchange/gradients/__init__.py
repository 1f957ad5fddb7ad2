"""Functions of systems for JAX and PyTorch, which differentiate through them by our exact derivatives."""
