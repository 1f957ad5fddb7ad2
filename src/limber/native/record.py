"""The record of a call: everything that a function of the state of one system needs in addition to the state.

A record is a vector of integers, some of them addresses, which the compiled code reads.  Whoever keeps a record
must also keep the arrays that it points to.
"""

RUN = 0  # address of `entries.run_states`
FUNCTION = 1  # address of the function of one state
TOPO, CONST = 2, 3  # addresses of the packed arrays of the system
WRENCHES = 4  # number of external wrenches per state
INDEX = 5  # address of the (body, node record) pairs of the wrenches, or of the node that the function is about
#: How many numbers each state has in the inputs v and x; 0 for an input that all states share.
V_SIZE, X_SIZE = 6, 7
OUT_SIZE = 8  # how many numbers each state has in the output
PIVOTS = 9  # 1: the function leaves pivots in its scratch
BAD_RESULT = 10  # the status to return if the result is not finite
FOUND = 11  # address of the largest error with which coordinates of cut joints count as found; 0: they are not checked
RECORD = 12
