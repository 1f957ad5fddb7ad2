"""Records of numbers that a simulation in Python and its compiled parts share: which place holds what."""

# kinds of signals: constant, a table over time, a function at every evaluation, or one at sample times
CONSTANT, TABLE, CALLED, SAMPLED = range(4)

#: A state beyond this is that of a motion that diverges, and excuses signals that are not finite.
RUNAWAY = 1e30

# a signal, something given over time and state: integers, most of them addresses
KIND, FUNCTION, TABLE_DATA, ROWS, VALUE, WIDTH, NUMBER = range(7)
SIGNAL = 7

# methods
RK4, RK45, DOP853, SDIRK = range(4)

# what `advance` returns
DONE, PAUSED, EVENT, STUCK, SPOILT = range(5)

# context: integers, most of them addresses
TOPO, CONST, CONST_SIZE, WORK = range(4)  # the model, and scratch
SIGNALS, WRENCHES = 4, 5  # the torque and the wrenches behind it, as signals; how many wrenches
TAU, APPLIED = 6, 7  # the torque; the torque and the generalized forces of the wrenches
NODES, WRENCH_DATA = 8, 9  # (body, node record) of every wrench; the wrenches, 6 numbers each
WRENCH_FORCES = 10  # the function that turns wrenches into generalized forces
RATES, FORCES, SWEEP = range(11, 14)  # functions: rates of the state, its forces, forward dynamics
IMPLICIT, IMPLICIT_SWEEP, MEMORY = range(14, 17)  # the implicit step, its sweep, its memory
EVENT_FUNCTION, EVENTS = 17, 18
SHARED = 19
DAMPED = 20  # 1: there are dampers or friction, of modes or joints
STATEFUL = 21  # 1: a signal is a function of the state
CONTEXT = 22

# shared numbers: the time that the clock counts from; the first value of a function that was not finite: the number of
# the signal, counted from 1 (an event: 1 more than there are), when, and which of its elements
ORIGIN_TIME, FAULT, FAULT_TIME, FAULT_PART = range(4)
SHARED_SIZE = 4

# behind the state y = [q; v]: the energy that came in, and where it came from
TORQUE_WORK, WRENCH_WORK, DAMPING_WORK, ACTION_WORK = range(4)
FLOWS = 4

# clock: what a simulation keeps between calls; times count from the start of the run
TIME, STEP, END_TIME, LARGEST, RTOL, ATOL = range(6)
SAMPLE, SAMPLES, NEXT_SAMPLE = range(6, 9)  # sample time; taken so far; the next
FRESH = 9  # 1: the rate at the start of the next step is not known
STOP = 10  # number of the next time at which a step must end
STEPS, REJECTED, EVALUATIONS, OUTPUT, EVENT_NUMBER, LAST_ERROR = range(11, 17)
CLOCK = 17

# memory of implicit steps: addresses of numbers, see `implicit`
STATE, HAT, FREE, BASE, FORCE, FOUND, SPARE, REST = range(8)
BY_Q, BY_V, Z, T, S, SLOPED, ORDER, POINT, RATE = range(8, 17)
MEMORY_SIZE = 17

# its STATE: steps since the slopes of the torque were taken, and how many torques have any
AGE, COUNT = range(2)
