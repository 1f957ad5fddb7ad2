/* One instance of the model: its values, its log, its derivatives.  Nothing here depends on the version of FMI.
 *
 * The equations (equations.h, generated) are functions of the states x, the inputs u and the parameters p; they give the
 * rates of the states and the outputs y.  Nothing is shared between instances, and only instantiation allocates memory.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "equations.h"

#define SIZE(n) ((n) > 0 ? (n) : 1)

/* Value references: time, then states, their derivatives, inputs, outputs and parameters. */
enum {
    TIME = 0,
    STATES = 1,
    RATES = STATES + NX,
    INPUTS = RATES + NX,
    OUTPUTS = INPUTS + NU,
    PARAMETERS = OUTPUTS + NY,
    VARIABLES = PARAMETERS + NP
};

/* The status codes of FMI 2 and FMI 3 are the same. */
enum { OK, WARNING, DISCARD, ERROR };

enum { MODEL_EXCHANGE, CO_SIMULATION };

enum { INSTANTIATED, INITIALIZING, AT_EVENT, CONTINUOUS, STEPPING, TERMINATED };

/* Residuals of the closures and of the norms of quaternions beyond which a solver is asked for an event ... */
#define DRIFT 1e-6
/* ... and within which nothing needs to be done. */
#define SETTLED 1e-13

/* What an FMU state holds. */
typedef struct {
    double time;
    double x[NX], u[SIZE(NU)], p[SIZE(NP)];
    double step; /* the next step of the solver of co-simulation, 0 if it is not known yet */
    double tolerance;
    int mode;
} Values;

typedef struct Instance Instance;

struct Instance {
    Values now;
    double dx[NX], y[SIZE(NY)];
    int has_dx, has_y; /* whether these belong to `now` */
    int kind;
    char *name;
    void *environment;
    void (*callback)(void); /* the logger of the importer, of the type that `tell` casts it to */
    void (*tell)(Instance *instance, int status, const char *category, const char *text);
};

static int say(Instance *instance, int status, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    instance->tell(instance, status, status == WARNING ? "logStatusWarning" : "logStatusError", text);
    return status;
}

static void changed(Instance *instance)
{
    instance->has_dx = instance->has_y = 0;
}

static void start_values(Instance *instance)
{
    Values *now = &instance->now;
    memset(now, 0, sizeof *now);
    memcpy(now->x, START_X, sizeof START_X);
    memcpy(now->p, START_P, sizeof START_P);
    now->tolerance = TOLERANCE;
    now->mode = INSTANTIATED;
    changed(instance);
}

static Instance *made(const char *name, int kind, const char *token)
{
    Instance *instance;
    size_t length = name ? strlen(name) + 1 : 1;
    if (!token || strcmp(token, TOKEN) != 0) {
        return NULL;
    }
    instance = calloc(1, sizeof *instance);
    if (!instance) {
        return NULL;
    }
    instance->name = calloc(1, length);
    if (!instance->name) {
        free(instance);
        return NULL;
    }
    if (name) {
        memcpy(instance->name, name, length);
    }
    instance->kind = kind;
    start_values(instance);
    return instance;
}

static void destroyed(Instance *instance)
{
    if (instance) {
        free(instance->name);
        free(instance);
    }
}

/* --- values ------------------------------------------------------------------------------------ */

/* The first number that is not finite, or -1. */
static int not_finite(const double *numbers, int count)
{
    for (int i = 0; i < count; ++i) {
        if (!isfinite(numbers[i])) {
            return i;
        }
    }
    return -1;
}

static int evaluate_rates(Instance *instance)
{
    Values *now = &instance->now;
    if (!instance->has_dx) {
        int bad;
        rates(now->x, now->u, now->p, instance->dx);
        bad = not_finite(instance->dx, NX);
        if (bad >= 0) {
            return say(instance, DISCARD, "%s is not finite at time %.9g.", NAMES[RATES + bad], now->time);
        }
        instance->has_dx = 1;
    }
    return OK;
}

static int evaluate_outputs(Instance *instance)
{
    Values *now = &instance->now;
    if (NY > 0 && !instance->has_y) {
        int bad;
        outputs(now->x, now->u, now->p, instance->y);
        bad = not_finite(instance->y, NY);
        if (bad >= 0) {
            return say(instance, DISCARD, "%s is not finite at time %.9g.", NAMES[OUTPUTS + bad], now->time);
        }
        instance->has_y = 1;
    }
    return OK;
}

static int unknown_reference(Instance *instance, const char *what, unsigned int reference)
{
    if (reference < VARIABLES) {
        return say(instance, ERROR, "%s: this cannot be done with the variable %s.", what, NAMES[reference]);
    }
    return say(instance, ERROR, "%s: there is no variable with the value reference %u.", what, reference);
}

static int get_values(Instance *instance, const unsigned int *references, size_t count, double *values)
{
    const Values *now = &instance->now;
    for (size_t i = 0; i < count; ++i) {
        const unsigned int r = references[i];
        int status = OK;
        if (r >= VARIABLES) {
            return unknown_reference(instance, "get", r);
        } else if (r >= PARAMETERS) {
            values[i] = now->p[r - PARAMETERS];
        } else if (r >= OUTPUTS) {
            status = evaluate_outputs(instance);
            values[i] = instance->y[r - OUTPUTS];
        } else if (r >= INPUTS) {
            values[i] = now->u[r - INPUTS];
        } else if (r >= RATES) {
            status = evaluate_rates(instance);
            values[i] = instance->dx[r - RATES];
        } else if (r >= STATES) {
            values[i] = now->x[r - STATES];
        } else {
            values[i] = now->time;
        }
        if (status != OK) {
            return status;
        }
    }
    return OK;
}

static int set_values(Instance *instance, const unsigned int *references, size_t count, const double *values)
{
    Values *now = &instance->now;
    const int starting = now->mode == INSTANTIATED || now->mode == INITIALIZING;
    for (size_t i = 0; i < count; ++i) {
        const unsigned int r = references[i];
        if (r >= VARIABLES) {
            return unknown_reference(instance, "set", r);
        }
        if (!isfinite(values[i])) {
            return say(instance, ERROR, "set %s: the value is not finite.", NAMES[r]);
        }
        if (r >= PARAMETERS) {
            if (now->mode == CONTINUOUS) {
                return say(instance, ERROR, "set %s: in continuous-time mode no parameter changes; enter event mode first.", NAMES[r]);
            }
            if (values[i] < LEAST_P[r - PARAMETERS]) {
                return say(instance, ERROR, "set %s: it must not be less than %g, got %.9g.", NAMES[r], LEAST_P[r - PARAMETERS], values[i]);
            }
            now->p[r - PARAMETERS] = values[i];
        } else if (r >= INPUTS && r < OUTPUTS) {
            now->u[r - INPUTS] = values[i];
        } else if (r >= STATES && r < RATES && starting) {
            now->x[r - STATES] = values[i];
        } else {
            return unknown_reference(instance, "set", r);
        }
    }
    changed(instance);
    return OK;
}

/* --- derivatives -------------------------------------------------------------------------------- */

/* sensitivity = d unknowns / d knowns times seed. */
static int directional(Instance *instance, const unsigned int *unknowns, size_t n_unknowns, const unsigned int *knowns,
                       size_t n_knowns, const double *seed, double *sensitivity)
{
    const Values *now = &instance->now;
    double x[NX] = {0}, u[SIZE(NU)] = {0}, p[SIZE(NP)] = {0}, dx[NX], y[SIZE(NY)];
    int has_dx = 0, has_y = 0;
    for (size_t i = 0; i < n_knowns; ++i) {
        const unsigned int r = knowns[i];
        if (r >= PARAMETERS && r < VARIABLES) {
            p[r - PARAMETERS] += seed[i];
        } else if (r >= INPUTS && r < OUTPUTS) {
            u[r - INPUTS] += seed[i];
        } else if (r >= STATES && r < RATES) {
            x[r - STATES] += seed[i];
        } else if (r != TIME) { /* on which nothing depends */
            return unknown_reference(instance, "directional derivative by a known", r);
        }
    }
    for (size_t i = 0; i < n_unknowns; ++i) {
        const unsigned int r = unknowns[i];
        if (r >= OUTPUTS && r < PARAMETERS) {
            if (!has_y) {
                outputs_directional(now->x, now->u, now->p, x, u, p, y);
                has_y = 1;
            }
            sensitivity[i] = y[r - OUTPUTS];
        } else if (r >= RATES && r < INPUTS) {
            if (!has_dx) {
                rates_directional(now->x, now->u, now->p, x, u, p, dx);
                has_dx = 1;
            }
            sensitivity[i] = dx[r - RATES];
        } else if (r >= STATES && r < RATES) {
            sensitivity[i] = x[r - STATES];
        } else {
            return unknown_reference(instance, "directional derivative of an unknown", r);
        }
    }
    if (not_finite(sensitivity, (int)n_unknowns) >= 0) {
        return say(instance, DISCARD, "a directional derivative is not finite at time %.9g.", now->time);
    }
    return OK;
}

#if ADJOINT
/* sensitivity = (d unknowns / d knowns)^T times seed. */
static int adjoint(Instance *instance, const unsigned int *unknowns, size_t n_unknowns, const unsigned int *knowns,
                   size_t n_knowns, const double *seed, double *sensitivity)
{
    const Values *now = &instance->now;
    double dx[NX] = {0}, y[SIZE(NY)] = {0}, x[NX] = {0}, u[SIZE(NU)] = {0}, p[SIZE(NP)] = {0};
    double of_x[NX], of_u[SIZE(NU)], of_p[SIZE(NP)];
    int has_dx = 0, has_y = 0;
    for (size_t i = 0; i < n_unknowns; ++i) {
        const unsigned int r = unknowns[i];
        if (r >= OUTPUTS && r < PARAMETERS) {
            y[r - OUTPUTS] += seed[i];
            has_y = 1;
        } else if (r >= RATES && r < INPUTS) {
            dx[r - RATES] += seed[i];
            has_dx = 1;
        } else if (r >= STATES && r < RATES) {
            x[r - STATES] += seed[i];
        } else {
            return unknown_reference(instance, "adjoint derivative of an unknown", r);
        }
    }
    for (int part = 0; part < 2; ++part) {
        if (part == 0 && has_dx) {
            rates_adjoint(now->x, now->u, now->p, dx, of_x, of_u, of_p);
        } else if (part == 1 && has_y) {
            outputs_adjoint(now->x, now->u, now->p, y, of_x, of_u, of_p);
        } else {
            continue;
        }
        for (int i = 0; i < NX; ++i) x[i] += of_x[i];
        for (int i = 0; i < NU; ++i) u[i] += of_u[i];
        for (int i = 0; i < NP; ++i) p[i] += of_p[i];
    }
    for (size_t i = 0; i < n_knowns; ++i) {
        const unsigned int r = knowns[i];
        if (r >= PARAMETERS && r < VARIABLES) {
            sensitivity[i] = p[r - PARAMETERS];
        } else if (r >= INPUTS && r < OUTPUTS) {
            sensitivity[i] = u[r - INPUTS];
        } else if (r >= STATES && r < RATES) {
            sensitivity[i] = x[r - STATES];
        } else if (r == TIME) {
            sensitivity[i] = 0.0;
        } else {
            return unknown_reference(instance, "adjoint derivative by a known", r);
        }
    }
    if (not_finite(sensitivity, (int)n_knowns) >= 0) {
        return say(instance, DISCARD, "an adjoint derivative is not finite at time %.9g.", now->time);
    }
    return OK;
}
#endif

/* --- quaternions and closures -------------------------------------------------------------------- */

/* How far quaternions are from unit and closures from being met; 0 if there are none. */
static double offness(const double *x, const double *p)
{
    double worst = 0.0;
#if NOFF > 0
    double off[NOFF];
    residuals(x, p, off);
    for (int i = 0; i < NOFF; ++i) {
        const double size = fabs(off[i]);
        if (!(size <= worst)) {
            worst = size;
        }
    }
#else
    (void)x;
    (void)p;
#endif
    return worst;
}

/* Make quaternions unit and meet the closures; what is left of their residuals. */
static double settle(double *x, const double *p)
{
    double left = offness(x, p);
#if NOFF > 0
    for (int i = 0; i < 20 && left > SETTLED; ++i) {
        double moved[NX], now;
        settled(x, p, moved);
        now = offness(moved, p);
        if (!(now < left)) {
            break;
        }
        memcpy(x, moved, sizeof moved);
        left = now;
    }
#endif
    return left;
}

/* --- the course of a simulation ------------------------------------------------------------------- */

static int enter_initialization(Instance *instance, int has_tolerance, double tolerance, double start)
{
    Values *now = &instance->now;
    if (has_tolerance) {
        if (!(tolerance > 0.0 && tolerance < 1.0)) {
            return say(instance, ERROR, "the tolerance of the experiment must be between 0 and 1, got %g.", tolerance);
        }
        now->tolerance = fmax(tolerance, 1e-13); /* rounding */
    }
    if (!isfinite(start)) {
        return say(instance, ERROR, "the start time must be finite, got %g.", start);
    }
    now->time = start;
    now->mode = INITIALIZING;
    return OK;
}

static int leave_initialization(Instance *instance)
{
    Values *now = &instance->now;
    double before, left;
    int status = OK;
    for (int i = 0; i < NQUATERNIONS; ++i) {
        const double *e = now->x + QUATERNIONS[i];
        const double norm = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
        if (!(fabs(norm - 1.0) <= DRIFT)) {
            return say(instance, ERROR, "the quaternion that starts with %s has the norm %.9g at the start: it must be 1.",
                       NAMES[STATES + QUATERNIONS[i]], norm);
        }
    }
    before = offness(now->x, now->p);
    left = settle(now->x, now->p);
    if (!(left <= DRIFT)) {
        return say(instance, ERROR, "the start values do not meet the closures of the model: they are off by %.3g, and by %.3g after "
                   "projection. Start nearer to a configuration that closes the loops.", before, left);
    }
    if (before > DRIFT) {
        status = say(instance, WARNING, "the start values did not meet the closures of the model, they were off by %.3g; they "
                     "have been projected.", before);
    }
    now->mode = instance->kind == CO_SIMULATION ? STEPPING : AT_EVENT;
    changed(instance);
    return status;
}

/* In event mode: whether the states have been made to fit. */
static int update_states(Instance *instance, int *moved)
{
    Values *now = &instance->now;
    *moved = 0;
    if (offness(now->x, now->p) > SETTLED) {
        const double left = settle(now->x, now->p);
        if (!(left <= DRIFT)) {
            return say(instance, ERROR, "quaternions and closures cannot be met at time %.9g: they are off by %.3g.", now->time, left);
        }
        *moved = 1;
        changed(instance);
    }
    return OK;
}

static int set_states(Instance *instance, const double *states, size_t count)
{
    if (count != NX) {
        return say(instance, ERROR, "there are %d continuous states, got %d.", NX, (int)count);
    }
    memcpy(instance->now.x, states, sizeof instance->now.x);
    changed(instance);
    return OK;
}

static int get_states(Instance *instance, double *states, size_t count)
{
    if (count != NX) {
        return say(instance, ERROR, "there are %d continuous states, got room for %d.", NX, (int)count);
    }
    memcpy(states, instance->now.x, sizeof instance->now.x);
    return OK;
}

static int get_derivatives(Instance *instance, double *derivatives, size_t count)
{
    int status;
    if (count != NX) {
        return say(instance, ERROR, "there are %d continuous states, got room for %d.", NX, (int)count);
    }
    status = evaluate_rates(instance);
    memcpy(derivatives, instance->dx, sizeof instance->dx);
    return status;
}

static int wrong_mode(Instance *instance, const char *function)
{
    return say(instance, ERROR, "%s was called in a mode in which it is not allowed.", function);
}

/* --- FMU states ------------------------------------------------------------------------------------ */

static int state_got(Instance *instance, void **state)
{
    if (!*state) {
        *state = malloc(sizeof(Values));
    }
    if (!*state) {
        return say(instance, ERROR, "there is no memory for an FMU state.");
    }
    memcpy(*state, &instance->now, sizeof(Values));
    return OK;
}

static int state_set(Instance *instance, const void *state)
{
    memcpy(&instance->now, state, sizeof(Values));
    changed(instance);
    return OK;
}

/* A serialized state: the token of the model, then the values. */
enum { STATE_BYTES = sizeof TOKEN + sizeof(Values) };

static int state_serialized(Instance *instance, const void *state, unsigned char *bytes, size_t size)
{
    if (size < STATE_BYTES) {
        return say(instance, ERROR, "a serialized state has %d bytes, there is room for %d.", (int)STATE_BYTES, (int)size);
    }
    memcpy(bytes, TOKEN, sizeof TOKEN);
    memcpy(bytes + sizeof TOKEN, state, sizeof(Values));
    return OK;
}

static int state_deserialized(Instance *instance, const unsigned char *bytes, size_t size, void **state)
{
    if (size != STATE_BYTES || memcmp(bytes, TOKEN, sizeof TOKEN) != 0) {
        return say(instance, ERROR, "these bytes are not a serialized state of this model.");
    }
    if (!*state) {
        *state = malloc(sizeof(Values));
    }
    if (!*state) {
        return say(instance, ERROR, "there is no memory for an FMU state.");
    }
    memcpy(*state, bytes + sizeof TOKEN, sizeof(Values));
    return OK;
}
