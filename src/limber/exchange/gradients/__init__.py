"""Functions of systems for JAX and PyTorch, which differentiate through them with exact derivatives."""
