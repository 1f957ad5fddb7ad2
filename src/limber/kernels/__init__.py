"""Scalar-generic kernels: the recursions, written once.

A kernel uses only `+ - * /`, sin, cos, sqrt, log, integer loops and array indexing.  It branches on structure,
never on the value of a scalar; it writes into arrays that it is given and allocates nothing.
`limber.kernels.layout` describes those arrays.
"""
