/* The functions of FMI 2.0 for model exchange and co-simulation.
 *
 * This file, with the headers next to it, is the entire FMU: compile it to a shared library.  To link several FMUs statically,
 * define FMI2_FUNCTION_PREFIX as the prefix of the names, such as arm_ for arm_fmi2DoStep.
 */
#include "instance.h"

#include "course.h"
#include "derivatives.h"
#include "solver.h"

#ifdef LIMBER_STANDARD_HEADERS
#include "fmi2Functions.h"
#else
#include "fmi2_types.h"
#endif

#ifdef FMI2_FUNCTION_PREFIX
#define FUNCTION_PREFIX FMI2_FUNCTION_PREFIX
#endif
#define FMI(name) fmi2##name
#define NAME(name) "fmi2" #name
#define WRONG_TOKEN "the GUID is not that of this FMU."

typedef fmi2Component Component;
typedef fmi2Status Status;
typedef fmi2Real Real;
typedef fmi2Boolean Boolean;
typedef fmi2String String;

#include "common.h"

static void told(Instance *instance, int status, const char *category, const char *text)
{
    char format[2048];
    size_t n = 0;
    if (!instance->callback) {
        return;
    }
    for (; *text && n < sizeof format - 2; ++text) { /* the message is a format: a percent sign of a name is written twice */
        if (*text == '%') {
            format[n++] = '%';
        }
        format[n++] = *text;
    }
    format[n] = '\0';
    ((fmi2CallbackLogger)instance->callback)(instance->environment, instance->name, (fmi2Status)status, category, format);
}

/* --- instances and values --------------------------------------------------------------------------- */

EXPORT const char *FUNCTION(GetTypesPlatform)(void)
{
    return "default";
}

EXPORT const char *FUNCTION(GetVersion)(void)
{
    return "2.0";
}

EXPORT fmi2Component FUNCTION(Instantiate)(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                           const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging)
{
    IGNORED(resources);
    IGNORED(visible);
    IGNORED(logging);
    return instantiated(name, type == fmi2CoSimulation ? CO_SIMULATION : MODEL_EXCHANGE, guid,
                        functions ? functions->componentEnvironment : NULL, functions ? (void (*)(void))functions->logger : NULL);
}

API(SetupExperiment)(fmi2Component instance, fmi2Boolean has_tolerance, fmi2Real tolerance, fmi2Real start, fmi2Boolean has_stop,
                     fmi2Real stop)
{
    Instance *me = instance;
    int status;
    IGNORED(has_stop);
    IGNORED(stop);
    if (me->now.mode != INSTANTIATED) {
        return (fmi2Status)wrong_mode(me, "fmi2SetupExperiment");
    }
    status = enter_initialization(me, has_tolerance, tolerance, start);
    me->now.mode = INSTANTIATED;
    return (fmi2Status)status;
}

API(EnterInitializationMode)(fmi2Component instance)
{
    Instance *me = instance;
    if (me->now.mode != INSTANTIATED) {
        return (fmi2Status)wrong_mode(me, "fmi2EnterInitializationMode");
    }
    me->now.mode = INITIALIZING;
    return fmi2OK;
}

API(GetReal)(fmi2Component instance, const fmi2ValueReference references[], size_t count, fmi2Real values[])
{
    return (fmi2Status)get_values(instance, references, count, values);
}

API(SetReal)(fmi2Component instance, const fmi2ValueReference references[], size_t count, const fmi2Real values[])
{
    return (fmi2Status)set_values(instance, references, count, values);
}

/* All variables are of the type Real. */
#define NO_VARIABLES(type)                                                                                                          \
    API(Get##type)(fmi2Component instance, const fmi2ValueReference references[], size_t count, fmi2##type values[])                \
    {                                                                                                                               \
        IGNORED(references);                                                                                                        \
        IGNORED(values);                                                                                                            \
        return no_variables(instance, count, #type);                                                                                \
    }                                                                                                                               \
    API(Set##type)(fmi2Component instance, const fmi2ValueReference references[], size_t count, const fmi2##type values[])          \
    {                                                                                                                               \
        IGNORED(references);                                                                                                        \
        IGNORED(values);                                                                                                            \
        return no_variables(instance, count, #type);                                                                                \
    }

NO_VARIABLES(Integer)
NO_VARIABLES(Boolean)
NO_VARIABLES(String)

API(GetFMUstate)(fmi2Component instance, fmi2FMUstate *state)
{
    return (fmi2Status)state_got(instance, state);
}

API(SetFMUstate)(fmi2Component instance, fmi2FMUstate state)
{
    return (fmi2Status)state_set(instance, state);
}

API(FreeFMUstate)(fmi2Component instance, fmi2FMUstate *state)
{
    IGNORED(instance);
    state_freed(state);
    return fmi2OK;
}

API(SerializedFMUstateSize)(fmi2Component instance, fmi2FMUstate state, size_t *size)
{
    IGNORED(instance);
    IGNORED(state);
    *size = STATE_BYTES;
    return fmi2OK;
}

API(SerializeFMUstate)(fmi2Component instance, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    return (fmi2Status)state_serialized(instance, state, (unsigned char *)bytes, size);
}

API(DeSerializeFMUstate)(fmi2Component instance, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    return (fmi2Status)state_deserialized(instance, (const unsigned char *)bytes, size, state);
}

API(GetDirectionalDerivative)(fmi2Component instance, const fmi2ValueReference unknowns[], size_t n_unknowns,
                              const fmi2ValueReference knowns[], size_t n_knowns, const fmi2Real seed[], fmi2Real sensitivity[])
{
    return (fmi2Status)directional(instance, unknowns, n_unknowns, knowns, n_knowns, seed, sensitivity);
}

/* --- model exchange -------------------------------------------------------------------------------------- */

API(EnterEventMode)(fmi2Component instance)
{
    Instance *me = instance;
    if (me->kind != MODEL_EXCHANGE || (me->now.mode != CONTINUOUS && me->now.mode != AT_EVENT)) {
        return (fmi2Status)wrong_mode(me, "fmi2EnterEventMode");
    }
    me->now.mode = AT_EVENT;
    return fmi2OK;
}

API(NewDiscreteStates)(fmi2Component instance, fmi2EventInfo *info)
{
    Instance *me = instance;
    int moved = 0, status;
    memset(info, 0, sizeof *info);
    if (me->now.mode != AT_EVENT) {
        return (fmi2Status)wrong_mode(me, "fmi2NewDiscreteStates");
    }
    status = update_states(me, &moved);
    info->valuesOfContinuousStatesChanged = moved;
    return (fmi2Status)status;
}

API(GetDerivatives)(fmi2Component instance, fmi2Real derivatives[], size_t count)
{
    return (fmi2Status)get_derivatives(instance, derivatives, count);
}

/* --- co-simulation ---------------------------------------------------------------------------------------- */

API(SetRealInputDerivatives)(fmi2Component instance, const fmi2ValueReference references[], size_t count, const fmi2Integer orders[],
                             const fmi2Real values[])
{
    IGNORED(references);
    IGNORED(orders);
    IGNORED(values);
    return count ? (fmi2Status)say(instance, ERROR, "this FMU holds its inputs over a step and accepts no derivatives of them.") : fmi2OK;
}

API(GetRealOutputDerivatives)(fmi2Component instance, const fmi2ValueReference references[], size_t count, const fmi2Integer orders[],
                              fmi2Real values[])
{
    IGNORED(references);
    IGNORED(orders);
    IGNORED(values);
    return count ? (fmi2Status)say(instance, ERROR, "this FMU has no time derivatives of outputs.") : fmi2OK;
}

API(DoStep)(fmi2Component instance, fmi2Real from, fmi2Real length, fmi2Boolean no_return)
{
    IGNORED(no_return);
    return (fmi2Status)do_step(instance, from, length);
}

API(CancelStep)(fmi2Component instance)
{
    return (fmi2Status)say(instance, ERROR, "steps end before fmi2DoStep returns: there is nothing to cancel.");
}

API(GetStatus)(fmi2Component instance, const fmi2StatusKind kind, fmi2Status *value)
{
    IGNORED(kind);
    IGNORED(value);
    return (fmi2Status)say(instance, DISCARD, "steps end before fmi2DoStep returns: no status is pending.");
}

API(GetRealStatus)(fmi2Component instance, const fmi2StatusKind kind, fmi2Real *value)
{
    if (kind == fmi2LastSuccessfulTime) {
        *value = ((Instance *)instance)->now.time;
        return fmi2OK;
    }
    return (fmi2Status)say(instance, DISCARD, "steps end before fmi2DoStep returns: no status is pending.");
}

API(GetIntegerStatus)(fmi2Component instance, const fmi2StatusKind kind, fmi2Integer *value)
{
    IGNORED(kind);
    IGNORED(value);
    return (fmi2Status)say(instance, DISCARD, "steps end before fmi2DoStep returns: no status is pending.");
}

API(GetBooleanStatus)(fmi2Component instance, const fmi2StatusKind kind, fmi2Boolean *value)
{
    if (kind == fmi2Terminated) {
        *value = fmi2False;
        return fmi2OK;
    }
    return (fmi2Status)say(instance, DISCARD, "steps end before fmi2DoStep returns: no status is pending.");
}

API(GetStringStatus)(fmi2Component instance, const fmi2StatusKind kind, fmi2String *value)
{
    IGNORED(kind);
    IGNORED(value);
    return (fmi2Status)say(instance, DISCARD, "steps end before fmi2DoStep returns: no status is pending.");
}
