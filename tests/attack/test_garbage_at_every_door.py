"""Thousands of broken conversations at every socket the sandbox can reach, with a server
outside that answers as badly. Afterwards the same run is still served, by the same process."""

import json
import pathlib
import random
import textwrap

import pytest

from remote_world import SERVER_V4

TOP = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = {name: [path.read_bytes() for path in sorted((TOP / "fuzz" / "corpus" / name).iterdir())]
           for name in ("http", "socks", "dns", "hello")}
PORT = 4444

BABBLER = """
import json, random, select, socket, struct, sys, threading

samples = {name: [bytes.fromhex(one) for one in ones] for name, ones in json.load(open(sys.argv[1])).items()}
seed, rounds = int(sys.argv[2]), int(sys.argv[3])


def spoiled(dice, sample):
    bytes_ = bytearray(sample)
    for _ in range(dice.choice((0, 0, 1, 1, 2, 8))):
        at = dice.randrange(len(bytes_) + 1)
        way = dice.randrange(4)
        if way == 0 and bytes_:
            bytes_[at % len(bytes_)] = dice.randrange(256)
        elif way == 1:
            del bytes_[at:at + dice.randrange(1, 20)]
        elif way == 2:
            bytes_[at:at] = dice.randbytes(dice.randrange(1, 20))
        else:
            bytes_[at:at] = dice.choice(samples[dice.choice(list(samples))])[:dice.randrange(1, 200)]
    return bytes(bytes_)


def converse(dice, connection, sample):
    connection.settimeout(0.2)
    while sample:
        size = dice.choice((1, 7, 100, 100000))
        connection.send(sample[:size])
        sample = sample[size:]
        if dice.random() < 0.1 and select.select([connection], [], [], 0)[0]:
            connection.recv(10000)
    end = dice.randrange(4)
    if end == 0:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    elif end == 1:
        connection.shutdown(socket.SHUT_WR)
    if end != 3:
        connection.recv(100000)


def knock(dice):
    door = dice.randrange(6)
    if door == 0:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.sendto(spoiled(dice, dice.choice(samples["dns"])[2:]), ("9.9.9.9", 53))
        return
    address, kind = [None, (("localhost", 3128), "http"), (("localhost", 1080), "socks"), (("9.9.9.9", 53), "dns"),
                     (("site.test", 4444), "hello"), (("site.test", 80), "http")][door]
    with socket.create_connection(address, 5) as connection:
        sample = spoiled(dice, dice.choice(samples[kind]).replace(b"example.com", b"site.test:4444"))
        converse(dice, connection, sample[1:] if kind == "socks" else sample)


def work(number):
    dice = random.Random(seed * 100 + number)
    for _ in range(rounds):
        try:
            knock(dice)
        except OSError:
            pass


threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.fixture(scope="module")
def site(world):
    world.names.add("site.test", SERVER_V4)
    dice = random.Random(1)

    def babble(connection):
        connection.settimeout(0.2)
        for _ in range(dice.randrange(4)):
            connection.recv(1000)
            connection.sendall(dice.choice(SAMPLES["http"] + SAMPLES["hello"] + [b"HTTP/1.1 200 OK\r\n\r\n"]))

    world.serve((SERVER_V4, PORT), babble)
    return world.web((SERVER_V4, 80))


@pytest.mark.parametrize("seed", [1, 2])
def test_who_babbles_at_the_filter_neither_breaks_nor_passes_it(world, person, site, seed):
    babbler = person.file("babbler.py", BABBLER)
    samples = person.file("samples.json", json.dumps({name: [one.hex() for one in ones] for name, ones in SAMPLES.items()}))
    asked = len(world.names.asked)
    script = textwrap.dedent(f"""
        curl -sS http://site.test/before
        /usr/bin/python3 {babbler} {samples} {seed} 150
        curl -sS http://site.test/proxy
        curl -sS --noproxy '*' http://site.test/direct
        curl -sS --noproxy nowhere --socks5-hostname localhost:1080 http://site.test/socks
        """)
    answer = world.cloche(person, "run", "--allow-domain", "site.test", "--", "sh", "-c", script, seconds=120)
    assert answer.stdout == "".join(f"page /{way} of site.test\n" for way in ("before", "proxy", "direct", "socks")), answer
    names = {name for name, _ in world.names.asked[asked:]}
    assert names <= {"site.test"}, "spoiled names are asked for by nobody"
