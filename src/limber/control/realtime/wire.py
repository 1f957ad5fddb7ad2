"""The wire format of the real-time loop: the packets that plant and controller exchange.

A packet is a header of 64 bytes and `count` numbers of 8 bytes (IEEE 754 binary64); everything is little-endian.  The same
packets go over UDP, one to a datagram, and through shared memory.  `wire.h` next to this file is the format for C.

    offset  type      field
    0       char[4]   magic      "LMBR"
    4       uint32    crc        CRC-32 (that of zlib and Ethernet) of all bytes from 8 to the end
    8       uint16    version    1
    10      uint16    kind       1 HELLO, 2 SAMPLE, 3 COMMAND, 4 BYE
    12      uint32    count      the numbers after the header
    16      uint32    state      SAMPLE: bits, 1 lead-in, 2 lockstep; COMMAND: state of the guard, 0 ok, 1 wait (there
                                 is no command yet, its numbers are nan), 2 limit, 3 hold, 4 stop; BYE: 0 done, 1 failed
    20      uint32    session    a number that the plant chooses; packets of other sessions are ignored
    24      uint64    sequence   SAMPLE: counts up by one from sample to sample; else 0
    32      uint64    answers    COMMAND: the sequence of the sample that it was computed from; else 0
    40      float64   time       the time of the sample in s, from the start of the run; a COMMAND repeats that of its sample
    48      int64     stamp      monotonic clock of the sender when it sent the packet, ns
    56      int64     echo       COMMAND: the stamp of the sample that it answers; else 0
    64      float64[] numbers    HELLO: sample time in s, numbers in a SAMPLE, numbers in a COMMAND; BYE: none

A run proceeds as follows. The controller sends HELLO, with session 0, repeatedly until the plant answers with its own
HELLO, which has the session.  The plant then sends one SAMPLE every sample time, and the controller answers each with a
COMMAND.  Samples of the lead-in have the initial state, so that both sides can warm up; their commands have no effect.
Either side says BYE when it ends.  Packets may be lost, so a plant should say it again until the controller says it too,
for some time.
"""

from __future__ import annotations

import math
import struct
import zlib

import numpy as np

from limber.errors import LimberError

MAGIC, VERSION = b"LMBR", 1
HELLO, SAMPLE, COMMAND, BYE = 1, 2, 3, 4
LEAD_IN, LOCKSTEP = 1, 2
DONE, FAILED = 0, 1
HEADER = struct.Struct("<4sIHHIIIQQdqq")
_CHECKED = struct.Struct("<HHIIIQQdqq")
#: The bytes before those that the checksum is of, and the most numbers that fit into a UDP datagram.
_UNCHECKED, MOST_NUMBERS = 8, 8000


class WireError(LimberError, RuntimeError):
    """Plant and controller are incompatible, or the other side did not answer."""


class Outgoing:
    """A packet to send, allocated once and reused: fill `values`, then call `seal`."""

    def __init__(self, kind: int, count: int):
        self.kind, self.count = kind, count
        self.buffer = bytearray(HEADER.size + 8 * count)
        self.values = np.frombuffer(self.buffer, "<f8", count, HEADER.size)
        self._checked = memoryview(self.buffer)[_UNCHECKED:]

    def seal(
        self,
        session: int,
        stamp: int,
        *,
        state: int = 0,
        sequence: int = 0,
        answers: int = 0,
        time: float = 0.0,
        echo: int = 0,
    ) -> bytearray:
        """Write the header, and return the packet."""
        _CHECKED.pack_into(
            self.buffer, _UNCHECKED, VERSION, self.kind, self.count, state, session, sequence, answers, time, stamp,
            echo,
        )  # fmt: skip
        struct.pack_into("<4sI", self.buffer, 0, MAGIC, zlib.crc32(self._checked))
        return self.buffer


class Incoming:
    """The last packet received, if `read` accepted it."""

    def __init__(self, most: int = MOST_NUMBERS):
        self.buffer = bytearray(HEADER.size + 8 * most)
        self._view = memoryview(self.buffer)
        self._numbers = np.frombuffer(self.buffer, "<f8", most, HEADER.size)
        self.kind = self.count = self.state = self.session = 0
        self.sequence = self.answers = self.stamp = self.echo = 0
        self.time = math.nan
        self.foreign = 0  # another version of the format that has come

    def greeting(self, size: int) -> bool:
        """Whether a packet is a valid HELLO; another version of the format is rejected."""
        sound = self.read(size)
        if self.foreign:
            raise WireError(
                f"the other side uses version {self.foreign} of the wire format, but this side uses version {VERSION}: "
                "use the same version of Limber, or the wire.h of this one, on both sides."
            )
        return sound and self.kind == HELLO

    @property
    def values(self) -> np.ndarray:
        """The numbers; they change with the next packet."""
        return self._numbers[: self.count]

    def read(self, size: int) -> bool:
        """Parse a packet of `size` bytes in the buffer; False if it is damaged, of another version or of another
        kind."""
        if size < HEADER.size:
            return False
        magic, crc, version, kind, count, *rest = HEADER.unpack_from(self.buffer)
        if magic != MAGIC or size != HEADER.size + 8 * count:
            return False
        if zlib.crc32(self._view[_UNCHECKED:size]) != crc:
            return False
        if version != VERSION:
            self.foreign = version
            return False
        self.kind, self.count = kind, count
        self.state, self.session, self.sequence, self.answers, self.time, self.stamp, self.echo = (
            rest
        )
        return True
