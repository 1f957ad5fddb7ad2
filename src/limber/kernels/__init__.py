"""Scalar-generic kernels: the recursions, written once.

A kernel uses `+ - * /`, sin, cos, sqrt, integer loops and array indexing only; it branches on
structure, never on a scalar's value; it writes into arrays it is given and allocates nothing.
`limber.kernels.layout` says what lies where in those arrays.
"""
