"""A listening socket for servers that run in the event loop of a test."""

import socket


def listen() -> socket.socket:
    """Listen on a free port of this machine, without Nagle's delay.

    asyncio switches the delay off only if it made the socket itself. Otherwise each answer with a head and a body waits
    40 ms for the client's kernel.
    """
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # its connections inherit it
    return listening
