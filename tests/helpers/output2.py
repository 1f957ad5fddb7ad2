"""OUTPUT2 files of Nastran as EXTSEOUT with DMIGOP2 writes them: a directory, and tables of DMIG in blocks EXTDB."""

import struct

import numpy as np


def _key(number):
    return struct.pack("<3i", 4, number, 4)


def _record(data):
    return struct.pack("<i", len(data)) + data + struct.pack("<i", len(data))


def table(name, records):
    """A data block of records of bytes."""
    name = name.ljust(8).encode()
    zero = _key(1) + _record(bytes(4))
    trailer = _record(struct.pack("<7i", 101, 32768, 0, 0, 0, 0, 0))
    out = _key(2) + _record(name) + _key(-1) + _key(7) + trailer + _key(-2)
    out += zero + _key(2) + _record(name) + _key(-3)
    for i, record in enumerate(records):
        out += zero + _key(len(record) // 4) + _record(record) + _key(-4 - i)
    return out + zero + _key(0)


def dmig(A, rows, columns):
    """The record of one triangle of a symmetric matrix, with (grid, direction) of its rows and of its columns."""
    out = struct.pack("<3i8s7i", 114, 1, 120, b"EXTDB   ", 0, 6, 2, 2, 0, 0, len(A))
    for j, column in enumerate(columns):
        out += struct.pack("<2i", *column)
        for i in np.flatnonzero(A[:, j]):
            if i <= j:
                out += struct.pack("<2id", *rows[i], A[i, j])
        out += struct.pack("<2i", -1, -1)
    return out + struct.pack("<2i", -1, -1)


def superelement(path, M, K, rows, columns):
    """Write MATK and MATM."""
    names = [b"PVT0    ", b"MATK    ", b"MATM    "]
    blocks = [("XSOP2DIR", names), ("PVTS", [bytes(24)])]
    blocks += [("EXTDB", [dmig(A, rows, columns)]) for A in (K, M)]
    path.write_bytes(b"".join(table(*block) for block in blocks) + _key(0))
