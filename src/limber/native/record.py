"""The record of a call: what a function of the state of one system needs besides the state.

A record is a vector of integers, addresses among them, which the compiled code reads.  Whoever holds a record
also holds the arrays that it points to.
"""

RUN = 0  # address of `entries.run_states`
FUNCTION = 1  # address of the function of one state
TOPO, CONST = 2, 3  # addresses of the packed arrays of the system
WRENCHES = 4  # number of external wrenches a state
INDEX = 5  # address of the (body, node record) pairs: of the wrenches, or of the node it is about
#: Numbers a state has in the inputs v and x, 0 for one that is the same for all states.
V_SIZE, X_SIZE = 6, 7
OUT_SIZE = 8  # numbers a state has in the output
PIVOTS = 9  # 1: the function leaves pivots in its scratch
BAD_RESULT = 10  # the status of a result that is not finite
RECORD = 11
