/* The functions of FMI 3.0 for model exchange and co-simulation.
 *
 * This file, with the headers next to it, is the entire FMU: compile it to a shared library.  To link several FMUs statically,
 * define FMI3_FUNCTION_PREFIX as the prefix of the names, such as arm_ for arm_fmi3DoStep.
 */
#include "instance.h"

#include "course.h"
#include "derivatives.h"
#include "solver.h"

#ifdef LIMBER_STANDARD_HEADERS
#include "fmi3Functions.h"
#else
#include "fmi3_types.h"
#endif

#ifdef FMI3_FUNCTION_PREFIX
#define FUNCTION_PREFIX FMI3_FUNCTION_PREFIX
#endif
#define FMI(name) fmi3##name
#define NAME(name) "fmi3" #name
#define WRONG_TOKEN "the instantiation token is not that of this FMU."

typedef fmi3Instance Component;
typedef fmi3Status Status;
typedef fmi3Float64 Real;
typedef fmi3Boolean Boolean;
typedef fmi3String String;

#include "common.h"

static void told(Instance *instance, int status, const char *category, const char *text)
{
    if (instance->callback) {
        ((fmi3LogMessageCallback)instance->callback)(instance->environment, (fmi3Status)status, category, text);
    }
}

/* --- instances and values --------------------------------------------------------------------------- */

EXPORT const char *FUNCTION(GetVersion)(void)
{
    return "3.0";
}

EXPORT fmi3Instance FUNCTION(InstantiateModelExchange)(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                                       fmi3Boolean logging, fmi3InstanceEnvironment environment,
                                                       fmi3LogMessageCallback log)
{
    IGNORED(resources);
    IGNORED(visible);
    IGNORED(logging);
    return instantiated(name, MODEL_EXCHANGE, token, environment, (void (*)(void))log);
}

EXPORT fmi3Instance FUNCTION(InstantiateCoSimulation)(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                                      fmi3Boolean logging, fmi3Boolean events, fmi3Boolean early,
                                                      const fmi3ValueReference intermediate[], size_t count,
                                                      fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                                      fmi3IntermediateUpdateCallback update)
{
    IGNORED(resources);
    IGNORED(visible);
    IGNORED(logging);
    IGNORED(events);
    IGNORED(early);
    IGNORED(intermediate);
    IGNORED(count);
    IGNORED(update);
    return instantiated(name, CO_SIMULATION, token, environment, (void (*)(void))log);
}

EXPORT fmi3Instance FUNCTION(InstantiateScheduledExecution)(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                                            fmi3Boolean logging, fmi3InstanceEnvironment environment,
                                                            fmi3LogMessageCallback log, fmi3ClockUpdateCallback update,
                                                            fmi3LockPreemptionCallback lock, fmi3UnlockPreemptionCallback unlock)
{
    IGNORED(name);
    IGNORED(token);
    IGNORED(resources);
    IGNORED(visible);
    IGNORED(logging);
    IGNORED(update);
    IGNORED(lock);
    IGNORED(unlock);
    if (log) {
        log(environment, fmi3Error, "logStatusError", "this FMU has no scheduled execution.");
    }
    return NULL;
}

API(EnterInitializationMode)(fmi3Instance instance, fmi3Boolean has_tolerance, fmi3Float64 tolerance, fmi3Float64 start,
                             fmi3Boolean has_stop, fmi3Float64 stop)
{
    Instance *me = instance;
    IGNORED(has_stop);
    IGNORED(stop);
    if (me->now.mode != INSTANTIATED) {
        return (fmi3Status)wrong_mode(me, "fmi3EnterInitializationMode");
    }
    return (fmi3Status)enter_initialization(me, has_tolerance, tolerance, start);
}

API(EnterEventMode)(fmi3Instance instance)
{
    Instance *me = instance;
    if (me->kind != MODEL_EXCHANGE || me->now.mode != CONTINUOUS) {
        return (fmi3Status)wrong_mode(me, "fmi3EnterEventMode");
    }
    me->now.mode = AT_EVENT;
    return fmi3OK;
}

API(GetFloat64)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, fmi3Float64 values[], size_t size)
{
    if (size != count) {
        return (fmi3Status)say(instance, ERROR, "fmi3GetFloat64: all variables are scalars, got %d references and %d values.", (int)count,
                               (int)size);
    }
    return (fmi3Status)get_values(instance, references, count, values);
}

API(SetFloat64)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, const fmi3Float64 values[], size_t size)
{
    if (size != count) {
        return (fmi3Status)say(instance, ERROR, "fmi3SetFloat64: all variables are scalars, got %d references and %d values.", (int)count,
                               (int)size);
    }
    return (fmi3Status)set_values(instance, references, count, values);
}

/* All variables are of the type Float64. */
#define NO_VARIABLES(type)                                                                                                          \
    API(Get##type)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, fmi3##type values[], size_t size)    \
    {                                                                                                                               \
        IGNORED(references);                                                                                                        \
        IGNORED(values);                                                                                                            \
        IGNORED(size);                                                                                                              \
        return no_variables(instance, count, #type);                                                                                \
    }                                                                                                                               \
    API(Set##type)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, const fmi3##type values[],           \
                   size_t size)                                                                                                     \
    {                                                                                                                               \
        IGNORED(references);                                                                                                        \
        IGNORED(values);                                                                                                            \
        IGNORED(size);                                                                                                              \
        return no_variables(instance, count, #type);                                                                                \
    }

NO_VARIABLES(Float32)
NO_VARIABLES(Int8)
NO_VARIABLES(UInt8)
NO_VARIABLES(Int16)
NO_VARIABLES(UInt16)
NO_VARIABLES(Int32)
NO_VARIABLES(UInt32)
NO_VARIABLES(Int64)
NO_VARIABLES(UInt64)
NO_VARIABLES(Boolean)
NO_VARIABLES(String)

API(GetBinary)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, size_t sizes[], fmi3Binary values[], size_t size)
{
    IGNORED(references);
    IGNORED(sizes);
    IGNORED(values);
    IGNORED(size);
    return no_variables(instance, count, "Binary");
}

API(SetBinary)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, const size_t sizes[],
               const fmi3Binary values[], size_t size)
{
    IGNORED(references);
    IGNORED(sizes);
    IGNORED(values);
    IGNORED(size);
    return no_variables(instance, count, "Binary");
}

API(GetClock)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, fmi3Clock values[])
{
    IGNORED(references);
    IGNORED(values);
    return no_variables(instance, count, "Clock");
}

API(SetClock)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, const fmi3Clock values[])
{
    IGNORED(references);
    IGNORED(values);
    return no_variables(instance, count, "Clock");
}

API(GetNumberOfVariableDependencies)(fmi3Instance instance, fmi3ValueReference reference, size_t *count)
{
    IGNORED(reference);
    *count = 0;
    return (fmi3Status)say(instance, ERROR, "dependencies of elements are for arrays; those of scalars are in modelDescription.xml.");
}

API(GetVariableDependencies)(fmi3Instance instance, fmi3ValueReference dependent, size_t of[], fmi3ValueReference independents[],
                             size_t by[], fmi3DependencyKind kinds[], size_t count)
{
    IGNORED(dependent);
    IGNORED(of);
    IGNORED(independents);
    IGNORED(by);
    IGNORED(kinds);
    IGNORED(count);
    return (fmi3Status)say(instance, ERROR, "dependencies of elements are for arrays; those of scalars are in modelDescription.xml.");
}

API(GetFMUState)(fmi3Instance instance, fmi3FMUState *state)
{
    return (fmi3Status)state_got(instance, state);
}

API(SetFMUState)(fmi3Instance instance, fmi3FMUState state)
{
    return (fmi3Status)state_set(instance, state);
}

API(FreeFMUState)(fmi3Instance instance, fmi3FMUState *state)
{
    IGNORED(instance);
    state_freed(state);
    return fmi3OK;
}

API(SerializedFMUStateSize)(fmi3Instance instance, fmi3FMUState state, size_t *size)
{
    IGNORED(instance);
    IGNORED(state);
    *size = STATE_BYTES;
    return fmi3OK;
}

API(SerializeFMUState)(fmi3Instance instance, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    return (fmi3Status)state_serialized(instance, state, bytes, size);
}

API(DeserializeFMUState)(fmi3Instance instance, const fmi3Byte bytes[], size_t size, fmi3FMUState *state)
{
    return (fmi3Status)state_deserialized(instance, bytes, size, state);
}

API(GetDirectionalDerivative)(fmi3Instance instance, const fmi3ValueReference unknowns[], size_t n_unknowns,
                              const fmi3ValueReference knowns[], size_t n_knowns, const fmi3Float64 seed[], size_t n_seed,
                              fmi3Float64 sensitivity[], size_t n_sensitivity)
{
    if (n_seed != n_knowns || n_sensitivity != n_unknowns) {
        return (fmi3Status)say(instance, ERROR, "fmi3GetDirectionalDerivative: there must be a seed for each known and a sensitivity for each unknown.");
    }
    return (fmi3Status)directional(instance, unknowns, n_unknowns, knowns, n_knowns, seed, sensitivity);
}

API(GetAdjointDerivative)(fmi3Instance instance, const fmi3ValueReference unknowns[], size_t n_unknowns,
                          const fmi3ValueReference knowns[], size_t n_knowns, const fmi3Float64 seed[], size_t n_seed,
                          fmi3Float64 sensitivity[], size_t n_sensitivity)
{
    if (n_seed != n_unknowns || n_sensitivity != n_knowns) {
        return (fmi3Status)say(instance, ERROR, "fmi3GetAdjointDerivative: there must be a seed for each unknown and a sensitivity for each known.");
    }
    return (fmi3Status)adjoint(instance, unknowns, n_unknowns, knowns, n_knowns, seed, sensitivity);
}

API(EnterConfigurationMode)(fmi3Instance instance)
{
    return (fmi3Status)say(instance, ERROR, "this FMU has no structural parameters.");
}

API(ExitConfigurationMode)(fmi3Instance instance)
{
    return (fmi3Status)say(instance, ERROR, "this FMU has no structural parameters.");
}

/* --- clocks, which there are none of ------------------------------------------------------------------ */

API(GetIntervalDecimal)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, fmi3Float64 intervals[],
                        fmi3IntervalQualifier qualifiers[])
{
    IGNORED(references);
    IGNORED(intervals);
    IGNORED(qualifiers);
    return no_variables(instance, count, "Clock");
}

API(GetIntervalFraction)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, fmi3UInt64 counters[],
                         fmi3UInt64 resolutions[], fmi3IntervalQualifier qualifiers[])
{
    IGNORED(references);
    IGNORED(counters);
    IGNORED(resolutions);
    IGNORED(qualifiers);
    return no_variables(instance, count, "Clock");
}

API(GetShiftDecimal)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, fmi3Float64 shifts[])
{
    IGNORED(references);
    IGNORED(shifts);
    return no_variables(instance, count, "Clock");
}

API(GetShiftFraction)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, fmi3UInt64 counters[],
                      fmi3UInt64 resolutions[])
{
    IGNORED(references);
    IGNORED(counters);
    IGNORED(resolutions);
    return no_variables(instance, count, "Clock");
}

API(SetIntervalDecimal)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, const fmi3Float64 intervals[])
{
    IGNORED(references);
    IGNORED(intervals);
    return no_variables(instance, count, "Clock");
}

API(SetIntervalFraction)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, const fmi3UInt64 counters[],
                         const fmi3UInt64 resolutions[])
{
    IGNORED(references);
    IGNORED(counters);
    IGNORED(resolutions);
    return no_variables(instance, count, "Clock");
}

API(SetShiftDecimal)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, const fmi3Float64 shifts[])
{
    IGNORED(references);
    IGNORED(shifts);
    return no_variables(instance, count, "Clock");
}

API(SetShiftFraction)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, const fmi3UInt64 counters[],
                      const fmi3UInt64 resolutions[])
{
    IGNORED(references);
    IGNORED(counters);
    IGNORED(resolutions);
    return no_variables(instance, count, "Clock");
}

API(ActivateModelPartition)(fmi3Instance instance, fmi3ValueReference clock, fmi3Float64 time)
{
    IGNORED(clock);
    IGNORED(time);
    return (fmi3Status)say(instance, ERROR, "this FMU has no scheduled execution.");
}

/* --- model exchange -------------------------------------------------------------------------------------- */

API(EvaluateDiscreteStates)(fmi3Instance instance)
{
    IGNORED(instance);
    return fmi3OK;
}

API(UpdateDiscreteStates)(fmi3Instance instance, fmi3Boolean *again, fmi3Boolean *terminate, fmi3Boolean *nominals, fmi3Boolean *moved,
                          fmi3Boolean *has_next, fmi3Float64 *next)
{
    Instance *me = instance;
    int states = 0, status;
    *again = *terminate = *nominals = *moved = *has_next = fmi3False;
    *next = 0.0;
    if (me->now.mode != AT_EVENT) {
        return (fmi3Status)wrong_mode(me, "fmi3UpdateDiscreteStates");
    }
    status = update_states(me, &states);
    *moved = states != 0;
    return (fmi3Status)status;
}

API(GetContinuousStateDerivatives)(fmi3Instance instance, fmi3Float64 derivatives[], size_t count)
{
    return (fmi3Status)get_derivatives(instance, derivatives, count);
}

API(GetNumberOfEventIndicators)(fmi3Instance instance, size_t *count)
{
    IGNORED(instance);
    *count = 0;
    return fmi3OK;
}

API(GetNumberOfContinuousStates)(fmi3Instance instance, size_t *count)
{
    IGNORED(instance);
    *count = NX;
    return fmi3OK;
}

/* --- co-simulation ---------------------------------------------------------------------------------------- */

API(EnterStepMode)(fmi3Instance instance)
{
    return (fmi3Status)say(instance, ERROR, "this FMU has no event mode in co-simulation.");
}

API(GetOutputDerivatives)(fmi3Instance instance, const fmi3ValueReference references[], size_t count, const fmi3Int32 orders[],
                          fmi3Float64 values[], size_t size)
{
    IGNORED(references);
    IGNORED(orders);
    IGNORED(values);
    IGNORED(size);
    return count ? (fmi3Status)say(instance, ERROR, "this FMU has no time derivatives of outputs.") : fmi3OK;
}

API(DoStep)(fmi3Instance instance, fmi3Float64 from, fmi3Float64 length, fmi3Boolean no_return, fmi3Boolean *event,
            fmi3Boolean *terminate, fmi3Boolean *early, fmi3Float64 *last)
{
    Instance *me = instance;
    int status;
    IGNORED(no_return);
    *event = *terminate = *early = fmi3False;
    status = do_step(me, from, length);
    *last = me->now.time;
    return (fmi3Status)status;
}
