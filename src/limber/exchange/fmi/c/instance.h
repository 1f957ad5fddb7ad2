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

/* Residuals of the closures and of the norms of quaternions beyond which an event is requested from the solver ... */
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
        return say(instance, ERROR, "%s: this is not possible for the variable %s.", what, NAMES[reference]);
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
                return say(instance, ERROR, "set %s: parameters cannot change in continuous-time mode; enter event mode first.", NAMES[r]);
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
