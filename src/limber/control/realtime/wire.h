/* The wire format of Limber's real-time loop, version 1; limber.control.realtime.wire describes it.
 *
 * C99, no dependencies.  For little-endian machines with IEEE 754 doubles, which nearly all are.
 * The generated functions of lb.compile(..., target="c-package") go well with it.
 */
#ifndef LIMBER_WIRE_H
#define LIMBER_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { LIMBER_VERSION = 1, LIMBER_HEADER = 64 };
enum { LIMBER_HELLO = 1, LIMBER_SAMPLE = 2, LIMBER_COMMAND = 3, LIMBER_BYE = 4 };
enum { LIMBER_LEAD_IN = 1, LIMBER_LOCKSTEP = 2 };                                  /* state of a SAMPLE */
enum { LIMBER_OK, LIMBER_WAIT, LIMBER_LIMIT, LIMBER_HOLD, LIMBER_STOP };           /* state of a COMMAND */

/* No padding: every field is aligned.  The numbers follow right after it. */
typedef struct {
    char magic[4];
    uint32_t crc;
    uint16_t version, kind;
    uint32_t count, state, session;
    uint64_t sequence, answers;
    double time;
    int64_t stamp, echo;
} limber_header;

static inline uint32_t limber_crc32(const void *data, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)data;
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
    }
    return ~crc;
}

/* The size of a packet of `count` numbers, in bytes. */
static inline size_t limber_size(uint32_t count)
{
    return LIMBER_HEADER + 8u * (size_t)count;
}

/* Complete a packet whose header fields from `kind` on and whose numbers are in place; returns its size. */
static inline size_t limber_seal(void *packet)
{
    limber_header *h = (limber_header *)packet;
    memcpy(h->magic, "LMBR", 4);
    h->version = LIMBER_VERSION;
    h->crc = limber_crc32((const char *)packet + 8, limber_size(h->count) - 8);
    return limber_size(h->count);
}

/* Whether `size` bytes are a sound packet of this version. */
static inline int limber_sound(const void *packet, size_t size)
{
    const limber_header *h = (const limber_header *)packet;
    return size >= LIMBER_HEADER && memcmp(h->magic, "LMBR", 4) == 0 && h->version == LIMBER_VERSION &&
           size == limber_size(h->count) && h->crc == limber_crc32((const char *)packet + 8, size - 8);
}

#endif
