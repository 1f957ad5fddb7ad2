"""Links between plant and controller: UDP sockets and shared memory, which carry the packets of `wire`.

A link has

    send(packet)          without waiting; a packet that cannot be sent is lost
    receive(buffer)       read the next packet into the buffer; returns its size, or 0 if there is none
    adopt()               send to the sender of the last packet from now on
    wait(seconds)         until there may be something to receive, or the time is over
    close()

`Address` names a link for both sides: "udp:127.0.0.1:5500", where the plant listens, or "shm:/dev/shm/arm", a file that
the plant creates.
"""

from __future__ import annotations

import os
import select
import socket
import tempfile
import uuid
from pathlib import Path
from typing import Any, Protocol

from limber.checks import shown
from limber.control.realtime.shared_memory import SharedMemoryLink
from limber.errors import ArgumentValueError

DEFAULT = "udp:127.0.0.1:5500"


class Link(Protocol):
    """The interface of a link; the head of this file describes it."""

    def send(self, packet: bytearray) -> None:
        """Send a packet."""

    def receive(self, buffer: bytearray) -> int:
        """The size of the next packet; 0 if there is none."""

    def adopt(self) -> None:
        """Send to the sender of the last packet from now on."""

    def wait(self, seconds: float) -> None:
        """Wait until there may be a packet."""

    def close(self) -> None:
        """Release the resources of the link."""


class UdpLink:
    """Packets as UDP datagrams. The plant listens, and sends to the address that it adopted (`adopt`); the controller
    connects.
    """

    def __init__(self, host: str, port: int, *, listening: bool):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._listening = listening
        self._peer: Any = None
        self._last: Any = None
        try:
            if listening:
                self._socket.bind((host, port))
            else:
                self._socket.connect((host, port))
        except OSError as error:
            self._socket.close()
            raise ArgumentValueError(
                f"address: udp:{host}:{port} cannot be used: {error}. Use another port, or another host."
            ) from error

    @property
    def port(self) -> int:
        """The port of this side."""
        return self._socket.getsockname()[1]

    def send(self, packet: bytearray) -> None:
        """Send a packet; it is lost if nobody listens."""
        try:
            if not self._listening:
                self._socket.send(packet)
            elif self._peer is not None:
                self._socket.sendto(packet, self._peer)
        except (BlockingIOError, ConnectionError):
            pass

    def receive(self, buffer: bytearray) -> int:
        """The size of the next packet; 0 if there is none."""
        size = 0
        try:
            while (
                not size
            ):  # an empty datagram is not a packet, and others may have arrived after it
                if self._listening:
                    size, sender = self._socket.recvfrom_into(buffer)
                    self._last = sender if size else self._last
                else:
                    size = self._socket.recv_into(buffer)
        except (BlockingIOError, ConnectionError):
            return 0
        return size

    def adopt(self) -> None:
        """Send to the sender of the last packet from now on."""
        self._peer = self._last

    def wait(self, seconds: float) -> None:
        """Wait until there is a packet."""
        if seconds > 0.0:
            select.select([self._socket], [], [], seconds)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def opened(address: str, side: str) -> Link:
    """Open the link of an address, for the side "plant" or "controller"."""
    kind, place = _parts(address)
    if kind == "shm":
        return SharedMemoryLink(Path(place), creates=side == "plant")
    host, _, port = place.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ArgumentValueError(
            f"address={shown(address)} must be udp:HOST:PORT, as in {DEFAULT}."
        )
    return UdpLink(host.strip("[]"), int(port), listening=side == "plant")


def free_address(kind: str) -> str:
    """An unused address on this machine."""
    if kind == "shm":
        folder = "/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir()
        return f"shm:{folder}/limber-{uuid.uuid4().hex}"
    if kind != "udp":
        raise ArgumentValueError(f'link must be "udp" or "shm", got {shown(kind)}.')
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return f"udp:127.0.0.1:{probe.getsockname()[1]}"


def _parts(address: Any) -> tuple[str, str]:
    kind, _, place = address.partition(":") if isinstance(address, str) else ("", "", "")
    if kind not in ("udp", "shm") or not place:
        raise ArgumentValueError(
            f"address={shown(address)} must be udp:HOST:PORT or shm:FILE, as in {DEFAULT} or shm:/dev/shm/arm."
        )
    return kind, place
