"""Records of numbers that a simulation in Python and its compiled parts share: which place holds what."""

# kinds of forces: constant, a table over time, a function at every evaluation, or one at sample times
CONSTANT, TABLE, CALLED, SAMPLED = range(4)

# methods
RK4, RK45, DOP853, SDIRK = range(4)

# what `march` returns
DONE, PAUSED, EVENT, STUCK = range(4)

# context: integers, most of them addresses
TOPO, CONST, CONST_SIZE, WORK = range(4)  # the model, and scratch
KIND, FUNCTION, TABLE_DATA, ROWS, TAU = range(4, 9)  # forces
RATES, FORCES, SWEEP = range(9, 12)  # functions: rates of the state, its forces, forward dynamics
IMPLICIT, IMPLICIT_SWEEP, MEMORY = range(12, 15)  # the implicit step, its sweep, its memory
EVENT_FUNCTION, EVENTS = 15, 16
CONTEXT = 17

# clock: what a simulation keeps between calls
TIME, STEP, END_TIME, LARGEST, RTOL, ATOL = range(6)
SAMPLE, SAMPLES, START, NEXT_SAMPLE = range(6, 10)  # sample time; taken so far; first and next
FRESH = 10  # 1: the rate at the start of the next step is not known
STOP = 11  # number of the next time at which a step must end
STEPS, REJECTED, EVALUATIONS, OUTPUT, EVENT_NUMBER, LAST_ERROR = range(12, 18)
CLOCK = 18

# memory of implicit steps: addresses of numbers, see `implicit`
STATE, HAT, FREE, BASE, FORCE, FOUND, SPARE, REST = range(8)
BY_Q, BY_V, Z, T, S, SLOPED, ORDER, POINT, RATE = range(8, 17)
MEMORY_SIZE = 17

# its STATE: steps since the slopes of the torque were taken, and how many torques have any
AGE, COUNT = range(2)
