"""Where things lie in the three arrays that every kernel is given.

`topo`   int64, flat, in rows of COLUMNS.  A row is named by where it starts, so that topo[k + PARENT]
         is the parent of body k.  Row 0 is the world and holds the sizes of the system; then come
         the bodies, a parent before its children, the groups of the general joints, and PAIRS.
`const`  float64, flat.  The numbers of the model: never written by a kernel.
`work`   float64, flat.  Scratch, one block per body; a kernel reads nothing it has not written.

Offsets into `const` and `work` are absolute and stand in `topo`.
"""

# --- topo, row 0: the system ------------------------------------------------------------------
# in columns that mean nothing for the world, which has no joint; its MODES, DOFS and WORK are 0
END = 7  # end of the bodies, start of the groups
ROWS_END = 8  # end of the groups
NQ, NV, RUTHLESS, WORK_SIZE = 9, 10, 11, 12
SPARE = 14  # work: room for a configuration, NQ numbers

# --- topo, the rows of the bodies -------------------------------------------------------------
PARENT = 0
MODES = 1  # number of modes m
DOFS = 2  # number of joint speeds r
Q_MODES = 3  # eta in q
Q_JOINT = 4  # theta in q
V_MODES = 5  # eta_dot in v
V_JOINT = 6  # beta in v
JOINT = 7  # FIXED, REVOLUTE, PRISMATIC or GENERAL
AXIS = 8  # row of P that a REVOLUTE (0..2) or PRISMATIC (3..5) joint drives
GROUP = 9  # first group row of a GENERAL joint, in inboard to outboard order
GROUPS = 10  # number of groups
ATTACHED = 11  # RIGIDLY, DEFORMING or CONSTANT: how the parent's modes move the joint
NODE = 12  # const: the parent's node record, when not RIGIDLY attached
INBOARD = 13  # const: own inboard node record; 0 when the modes are clamped at the joint
CONST = 14  # const: the fixed block below
MODAL = 15  # const: the modal block below
SECOND = 16  # 1: the modal block has its second-order part (S2, G1)
WORK = 17  # work: the fixed block below
W_JOINT = 18  # work: per joint speed H (6), K (6), 1/D, nu; GENERAL: 6 r + r r of scratch behind
W_NODE = 19  # work: 6 numbers per mode of the parent, the motion of the joint's inboard frame
W_MODES = 20  # work: modal block, see the end of this file
W_INBOARD = 21  # work: inboard node, E_d (9), l_d (3), bias (6), as TURN (7), then 6 per mode
INDIRECT = 22  # const: the precomputed block of a ruthless body with modes, see `ruthless`
LOADS = 23  # number of children whose joint the modes of this body move
SLOT = 24  # index of this body among those children of its parent
W_LOADS = 25  # work: their stacked inertia (6 LOADS)^2, force 6 LOADS and scratch 6 LOADS
RANK = 26  # rank of Omega of a ruthless body: how many columns C has
ALIGNED = 27  # const: the aligned modal block below; 0 when the modes are eliminated as they are
ALIGNED_NODE = (
    28  # const: the parent's node record in its aligned coordinates (NODE if it has none)
)
SEEN = 29  # number of the parent's aligned modes, the first ones, that move the joint
PAIRS = 30  # topo: for each mode r, how many N1_rs of the modal block are not zero, and their s
COLUMNS = 31

# --- topo, group rows -------------------------------------------------------------------------
G_KIND, G_Q, G_V, G_DOFS, G_CONST = 0, 1, 2, 3, 4

# joint kinds
FIXED, REVOLUTE, PRISMATIC, GENERAL = 0, 1, 2, 3
# group kinds: a product of screws with a constant joint map; quaternion; quaternion and position
SCREWS, SPHERICAL, FREE = 0, 1, 2
# attachment
RIGIDLY, DEFORMING, CONSTANT = 0, 1, 2

# --- const ------------------------------------------------------------------------------------
GRAVITY = 0  # (3,) world axes
WORLD = 3  # a node record without shapes: the world origin
CONST_START = 6

# fixed block of a body
C_ROT = 0  # (3, 3) joint axes in node axes
C_ARM = 9  # (3,) from the node to the joint
C_OFFSET = 12  # (3,) from the parent's body frame to the joint, undeformed
C_MASS = 15  # mass
C_MOMENT = 16  # (3,) mass times centre of mass
C_INERTIA = 19  # (6,) about the body-frame origin

# node record: undeformed position (3), then per mode its rotation (3) and translation (3)
NODE_POSITION, NODE_SHAPES = 0, 3

# group record of SCREWS: per screw SCREW numbers, then the joint map, 6 per speed
S_RATE, S_AXIS, S_LINEAR, S_SINE, S_VERSINE, SCREW = 0, 1, 4, 7, 10, 13

# --- work -------------------------------------------------------------------------------------
ROT = 0  # (3, 3) joint outboard axes in the parent's body axes
ORIGIN = 9  # (3,) from the parent's body frame to the joint's outboard frame, parent axes
OMEGA = 12  # (3,) angular velocity, body axes (ruthless: of the hinges alone)
BIAS = 15  # (6,) Coriolis acceleration of the hinge, outboard axes
P = 21  # (21,) composite or articulated inertia
Z = 42  # (6,) force
ACC = 48  # (6,) inertial acceleration of the body frame, body axes
VEL = 54  # (6,) velocity of the body frame, body axes
PLACE = 60  # (3, 3) + (3,) body axes and origin in the world
TURN = 72  # (7,) rotation vector x of the parent's node; b, c, db/du, dc/du of `so3` at x
ARM = 79  # (3,) from the parent's node to the joint's outboard frame, parent axes
WORK_BLOCK = 82
SIZE = Z  # (2,) after a sweep: the largest angular and linear inertia of the bodies outboard; see `checks`
SCRATCH = ACC  # (24,) free between the first outward and the last outward sweep: ACC, VEL, PLACE

# joint work, per speed
J_H, J_K, J_D, J_NU, JOINT_WORK = 0, 6, 12, 13, 14

# inboard work
I_ROT, I_POS, I_BIAS, I_TURN, I_SHAPES = 0, 9, 12, 18, 25

# modal block of a body with m modes, relative to topo[k + MODAL]; sizes in numbers; `assembly.modal` writes it
#   G0 m m | K m m | D m m | FE0 6 m (F0_r, E0_r) | N0 9 m | F1 3 m m | S2 3 m m | G1 m m m | N1 9 per pair
# aligned modal block, relative to topo[k + ALIGNED]: in modal coordinates zeta, eta = B zeta, in which the
# loaded nodes move along unit vectors (`assembly.align`)
#   B m m | B^T G0 B m m | FE0 of zeta 6 m | F1 3 m m, of zeta by eta
# N1: mode by mode as PAIRS has them; DENSE or more, all of them not zero, in the order of `modal.dense_sum`
DENSE = 8
# modal work, relative to topo[k + W_MODES]
#   MU 6 m (F_r, E_r) | DF m m | N 9 m (see `modal`) | ZF m


def modal_work_size(m):
    return 6 * m + m * m + 9 * m + m
