# WebSockets over HTTP/3, by aioquic, against the echo server whose port is given: prints a line for each check that holds.
import asyncio
import os
import ssl
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamReset

ENABLE_CONNECT_PROTOCOL = 0x8
TEXT, BINARY, CLOSE = 1, 2, 8


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.streams = {}

    def quic_event_received(self, event):
        if isinstance(event, StreamReset) and event.stream_id in self.streams:
            self.streams[event.stream_id].put_nowait(None)
        for got in self.http.handle_event(event):
            if isinstance(got, (HeadersReceived, DataReceived)):
                self.streams[got.stream_id].put_nowait(got)

    def open(self, **fields):
        names = {"method": b"CONNECT", "protocol": b"websocket", "scheme": b"https", "authority": b"localhost", "path": b"/"}
        stream = self._quic.get_next_available_stream_id()
        self.streams[stream] = asyncio.Queue()
        pseudo = {**names, **{name: value for name, value in fields.items() if name in names}}
        headers = [(b":" + name.encode(), value) for name, value in pseudo.items() if value is not None]
        version = fields.get("version", b"13")
        if version is not None:
            headers.append((b"sec-websocket-version", version))
        headers.append((b"x-long", b"x" * fields.get("long", 0)))
        self.http.send_headers(stream, headers)
        self.transmit()
        return Socket(self, stream)


class Socket:
    def __init__(self, client, stream):
        self.client = client
        self.stream = stream
        self.bytes = b""
        self.ended = False

    async def next(self):
        event = await asyncio.wait_for(self.client.streams[self.stream].get(), 60)
        self.ended = event is None or event.stream_ended
        return event

    async def status(self):
        return int(dict((await self.next()).headers)[b":status"])

    def send(self, data, end=False):
        self.client.http.send_data(self.stream, data, end)
        self.client.transmit()

    async def take(self, count):
        while len(self.bytes) < count:
            assert not self.ended, f"the stream ended after {self.bytes!r}"
            event = await self.next()
            self.bytes += event.data if isinstance(event, DataReceived) else b""
        taken, self.bytes = self.bytes[:count], self.bytes[count:]
        return taken

    async def frame(self):
        first, length = await self.take(2)
        if length == 126:
            length = int.from_bytes(await self.take(2), "big")
        elif length == 127:
            length = int.from_bytes(await self.take(8), "big")
        return first, await self.take(length)

    async def end(self):
        while not self.ended:
            await self.next()


def frame(opcode, payload=b""):
    length = len(payload)
    if length < 126:
        head = bytes([0x80 | length])
    elif length < 65536:
        head = bytes([0xFE]) + length.to_bytes(2, "big")
    else:
        head = bytes([0xFF]) + length.to_bytes(8, "big")
    mask = os.urandom(4)
    key = int.from_bytes((mask * (length // 4 + 1))[:length], "big")
    masked = (int.from_bytes(payload, "big") ^ key).to_bytes(length, "big")
    return bytes([0x80 | opcode]) + head + mask + masked


async def opened(client):
    socket = client.open()
    assert await socket.status() == 200
    return socket


async def settings(client):
    await (await opened(client)).client.ping()
    assert client.http.received_settings[ENABLE_CONNECT_PROTOCOL] == 1


async def echo(client):
    socket = await opened(client)
    for size in (0, 1, 125, 126, 5000, 65535, 65536, 1 << 20):
        for opcode, payload in ((TEXT, b"t" * size), (BINARY, os.urandom(size))):
            socket.send(frame(opcode, payload))
            assert await socket.frame() == (0x80 | opcode, payload), size


async def close(client):
    socket = await opened(client)
    socket.send(frame(CLOSE, (1000).to_bytes(2, "big") + b"bye"))
    assert await socket.frame() == (0x88, (1000).to_bytes(2, "big"))
    await socket.end()


async def errors(client):
    unmasked = b"\x81\x01a"
    for data, code in ((unmasked, 1002), (frame(3), 1002), (frame(TEXT, b"\xff"), 1007), (frame(BINARY)[:1] + b"\xff" + (1 << 40).to_bytes(8, "big") + b"\0\0\0\0", 1009)):
        socket = await opened(client)
        socket.send(data)
        assert await socket.frame() == (0x88, code.to_bytes(2, "big")), code
        await socket.end()


async def refusals(client):
    rows = (({"method": b"GET", "protocol": None}, 405), ({"protocol": b"connect-udp"}, 501), ({"version": b"12"}, 400), ({"version": None}, 400), ({"path": b"nowhere"}, 400))
    for fields, status in rows:
        socket = client.open(**fields)
        assert await socket.status() == status, fields
        await socket.end()
    # A head that is too long ends its stream, and no other.
    await client.open(long=40_000).end()
    await echo(client)


async def main(port):
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE)
    async with connect("127.0.0.1", port, configuration=configuration, create_protocol=Client) as client:
        for check in (settings, echo, close, errors, refusals):
            await check(client)
            print(check.__name__, flush=True)


asyncio.run(main(int(sys.argv[1])))
