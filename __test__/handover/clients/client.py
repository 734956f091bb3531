# `python client.py <port> <connections>`: connections of the package `websockets` that talk to an echo until a line of input
# comes. Every answer must be the message that was sent at that place. Prints the number of answers.
import asyncio
import os
import random
import sys

from websockets.asyncio.client import connect

WINDOW = 6


# A compressed message of more than 64 KiB on the wire does not move.
MOST_COMPRESSED = 60000


def message(number, compressed):
    size = random.choice([0, 1, 125, 126, 3000, 65535, 65536, 150000])
    if number % 2:
        return f"{number} " + "ü€🙂x"[number // 2 % 4] * (size // 4)
    return b"%d " % number + os.urandom(min(size, MOST_COMPRESSED) if compressed else size)


def pieces(data):
    """None: in one frame."""
    if len(data) < 2 or random.random() < 0.5:
        return None
    cuts = sorted(random.sample(range(len(data) + 1), min(len(data), 3)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)])]


async def talk(port, number, over):
    compression = "deflate" if number % 2 else None
    async with connect(f"ws://127.0.0.1:{port}/", compression=compression, max_size=None, open_timeout=None, ping_interval=0.3, ping_timeout=None) as ws:
        sent = asyncio.Queue(WINDOW)

        async def send():
            count = 0
            while not over.is_set():
                count += 1
                data = message(count, compression)
                await sent.put(data)
                await ws.send(pieces(data) or data)
            await sent.put(None)

        sending = asyncio.create_task(send())
        answers = 0
        while (expected := await sent.get()) is not None:
            answer = await ws.recv()
            if answer != expected:
                raise AssertionError(f"connection {number}: answer {answers} has {answer[:20]!r}, not {expected[:20]!r}")
            answers += 1
        await sending
        return answers


async def main():
    port, connections = int(sys.argv[1]), int(sys.argv[2])
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin, lambda: (over.set(), loop.remove_reader(sys.stdin)))
    print(sum(await asyncio.gather(*(talk(port, n, over) for n in range(connections)))))


asyncio.run(main())
