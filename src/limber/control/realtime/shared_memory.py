"""Packets through memory that two processes share: a file, best in a file system that lies in memory, such as /dev/shm.

    offset  type       what
    0       char[4]    "LSHM"; written last, when the file is ready
    4       uint32     version, 1
    8       uint32     slots in each direction
    12      uint32     bytes of a slot
    64      uint64     packets written by the plant
    128     uint64     packets written by the controller
    4096    slots of the plant, then those of the controller

A slot has the size of its packet (uint32), 4 unused bytes, and the packet. Packet n, counted from 0, is in slot n
modulo the number of slots. The writer fills the slot, then increments the count. A reader that was overtaken continues
with the newest packet; the checksum detects torn packets.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import time
from pathlib import Path

from limber.control.realtime.wire import HEADER, MOST_NUMBERS
from limber.errors import ArgumentValueError

MAGIC, VERSION = b"LSHM", 1
SLOTS, SLOT_SIZE, FIRST_SLOT = 16, 8 + HEADER.size + 8 * MOST_NUMBERS, 4096
#: Places of the counts, of the plant and of the controller.
COUNTS = (64, 128)
#: How often a waiting side looks whether something has come, s.
LOOK = 2e-5
_COUNT, _SIZE = struct.Struct("<Q"), struct.Struct("<I")


class SharedMemoryLink:
    """One end of shared memory; the plant creates it, the controller opens it."""

    def __init__(self, path: Path, *, creates: bool):
        self._path, self._creates = path, creates
        self._map: mmap.mmap | None = None
        self._sent = self._received = 0
        self._mine, self._other = (0, 1) if creates else (1, 0)
        if creates:
            self._create()

    def _create(self) -> None:
        size = FIRST_SLOT + 2 * SLOTS * SLOT_SIZE
        try:
            self._path.unlink(missing_ok=True)
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise ArgumentValueError(
                f"address: the file {self._path} for shared memory cannot be created: {error}."
            ) from error
        try:
            os.ftruncate(handle, size)
            self._map = mmap.mmap(handle, size)
        finally:
            os.close(handle)
        struct.pack_into("<III", self._map, 4, VERSION, SLOTS, SLOT_SIZE)
        self._map[0:4] = MAGIC

    def _opened(self) -> mmap.mmap | None:
        """The memory; None until the plant has created it."""
        if self._map is None:
            with contextlib.suppress(OSError, ValueError), open(self._path, "r+b") as file:
                found = mmap.mmap(file.fileno(), 0)
                if found[0:4] != MAGIC:
                    return None
                version, slots, size = struct.unpack_from("<III", found, 4)
                if (version, slots, size) != (VERSION, SLOTS, SLOT_SIZE):
                    raise ArgumentValueError(
                        f"address: {self._path} is shared memory of another version of Limber; use the same one on both sides."
                    )
                self._map = found
                (self._sent,) = _COUNT.unpack_from(found, COUNTS[self._mine])
        return self._map

    def send(self, packet: bytearray) -> None:
        """Send a packet; it is lost if the memory has not been created yet."""
        memory = self._opened()
        if memory is None:
            return
        at = self._slot(self._mine, self._sent)
        _SIZE.pack_into(memory, at, len(packet))
        memory[at + 8 : at + 8 + len(packet)] = bytes(packet)
        self._sent += 1
        _COUNT.pack_into(memory, COUNTS[self._mine], self._sent)

    def receive(self, buffer: bytearray) -> int:
        """The size of the next packet; 0 if there is none."""
        memory = self._opened()
        if memory is None:
            return 0
        (written,) = _COUNT.unpack_from(memory, COUNTS[self._other])
        if written == self._received:
            return 0
        if written - self._received > SLOTS // 2:
            self._received = written - 1
        at = self._slot(self._other, self._received)
        self._received += 1
        (size,) = _SIZE.unpack_from(memory, at)
        size = min(size, len(buffer), SLOT_SIZE - 8)
        buffer[:size] = memory[at + 8 : at + 8 + size]
        return size

    def adopt(self) -> None:
        """Do nothing: there is only one other side."""

    def wait(self, seconds: float) -> None:
        """Wait until there is a packet."""
        end = time.monotonic() + seconds
        memory = self._opened()
        while True:
            if memory is not None:
                (written,) = _COUNT.unpack_from(memory, COUNTS[self._other])
                if written != self._received:
                    return
            left = end - time.monotonic()
            if left <= 0.0:
                return
            time.sleep(min(left, LOOK))

    def close(self) -> None:
        """Release the memory; the plant removes the file."""
        if self._map is not None:
            self._map.close()
            self._map = None
        if self._creates:
            self._path.unlink(missing_ok=True)

    @staticmethod
    def _slot(direction: int, number: int) -> int:
        return FIRST_SLOT + (direction * SLOTS + number % SLOTS) * SLOT_SIZE
