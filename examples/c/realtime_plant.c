/* A plant in C for `limber realtime --side controller`: generated code of an arm, stepped at the pace of the clock.
 *
 * It stands for any simulator or machine that speaks wire.h. Samples are q, v and the command in effect, as those of a loop
 * without sensors and actuators are. The command that answers a sample takes effect at the next one; without an answer the
 * last command is held, and after HOLD samples without one the torques are zero. At the end the plant says goodbye until the
 * controller does, for GOODBYES times 10 ms at most.
 *
 *   lb.compile(system, "step", target="c-package", path="arm", name="arm")         writes arm_step.c and arm_step.h
 *   cc -O2 -Iarm -I$(python -c "import limber.control.realtime as r; print(r.INCLUDE)") \
 *      realtime_plant.c arm/arm_step.c -lm -o plant
 *   ./plant 5500 0.001 2.0                                                          port, sample time in s, duration in s
 */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "arm_step.h"
#include "wire.h"

enum { NQ = ARM_STEP_Q_SIZE, NV = ARM_STEP_V_SIZE, SAMPLE = NQ + 2 * NV, HOLD = 10, LEAD_IN = 100, GOODBYES = 500 };

typedef struct {
    limber_header h;
    double numbers[1000];
} packet;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void wait_until(int64_t deadline)
{
    struct timespec t = {deadline / 1000000000, deadline % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0) {
    }
}

static void greet(int s, const struct sockaddr_in *peer, double sample_time, uint32_t session)
{
    packet p = {.h = {.kind = LIMBER_HELLO, .count = 3, .session = session, .stamp = now()}};
    p.numbers[0] = sample_time;
    p.numbers[1] = SAMPLE;
    p.numbers[2] = NV;
    sendto(s, &p, limber_seal(&p), 0, (const struct sockaddr *)peer, sizeof *peer);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: plant PORT SAMPLE_TIME DURATION\n");
        return 2;
    }
    const double sample_time = atof(argv[2]);
    const int64_t period = (int64_t)(1e9 * sample_time + 0.5);
    const long samples = (long)(atof(argv[3]) / sample_time + 0.5);
    struct sockaddr_in mine = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))}, peer;
    mine.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int s = socket(AF_INET, SOCK_DGRAM, 0);
    if (s < 0 || bind(s, (struct sockaddr *)&mine, sizeof mine) != 0) {
        perror("socket");
        return 1;
    }
    const uint32_t session = (uint32_t)now() | 1u;
    socklen_t size = sizeof peer;
    packet p;
    for (;;) {
        ssize_t n = recvfrom(s, &p, sizeof p, 0, (struct sockaddr *)&peer, &size);
        if (n > 0 && limber_sound(&p, (size_t)n) && p.h.kind == LIMBER_HELLO)
            break;
    }
    greet(s, &peer, sample_time, session);

    double q[NQ] = {0}, v[NV] = {0}, tau[NV] = {0};
    uint64_t sequence = 0, answered = UINT64_MAX;
    long late = 0, silent = 0;
    const int64_t begin = now() + period;
    for (long k = -LEAD_IN; k < samples; k++) {
        wait_until(begin + (k + LEAD_IN) * period);
        int fresh = 0;
        ssize_t n;
        while ((n = recv(s, &p, sizeof p, MSG_DONTWAIT)) > 0) {
            if (!limber_sound(&p, (size_t)n))
                continue;
            if (p.h.kind == LIMBER_HELLO)
                greet(s, &peer, sample_time, session);
            if (p.h.session != session || p.h.kind != LIMBER_COMMAND || p.h.count != NV)
                continue;
            if (k > 0 && p.h.answers + 1 == sequence && p.h.answers != answered) {
                double sum = 0.0;
                for (int i = 0; i < NV; i++)
                    sum += p.numbers[i];
                if (!isfinite(sum))
                    continue;
                memcpy(tau, p.numbers, sizeof tau);
                answered = p.h.answers;
                fresh = 1;
            }
        }
        silent = fresh ? 0 : silent + (k > 0);
        late += k > 0 && !fresh;
        if (silent > HOLD)
            memset(tau, 0, sizeof tau);
        packet out = {.h = {.kind = LIMBER_SAMPLE, .count = SAMPLE, .session = session, .sequence = sequence++}};
        out.h.state = k < 0 ? LIMBER_LEAD_IN : 0;
        out.h.time = k < 0 ? 0.0 : k * sample_time;
        out.h.stamp = now();
        memcpy(out.numbers, q, sizeof q);
        memcpy(out.numbers + NQ, v, sizeof v);
        memcpy(out.numbers + NQ + NV, tau, sizeof tau);
        sendto(s, &out, limber_seal(&out), 0, (struct sockaddr *)&peer, sizeof peer);
        if (k >= 0) {
            double q_new[NQ], v_new[NV];
            arm_step(q, v, tau, &sample_time, q_new, v_new);
            memcpy(q, q_new, sizeof q);
            memcpy(v, v_new, sizeof v);
        }
    }
    packet bye = {.h = {.kind = LIMBER_BYE, .session = session}};
    const size_t length = limber_seal(&bye);
    for (int i = 0, heard = 0; i < GOODBYES && !heard; i++) { /* a packet may be lost */
        sendto(s, &bye, length, 0, (struct sockaddr *)&peer, sizeof peer);
        wait_until(now() + 10000000);
        ssize_t n;
        while ((n = recv(s, &p, sizeof p, MSG_DONTWAIT)) > 0)
            heard |= limber_sound(&p, (size_t)n) && p.h.session == session && p.h.kind == LIMBER_BYE;
    }
    close(s);
    for (int i = 0; i < NQ; i++)
        printf("%.17g ", q[i]);
    printf("\nlate commands: %ld of %ld\n", late, samples);
    return 0;
}
