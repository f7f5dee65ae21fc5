"""What the attacks share.

A test attacks with `jail.attack(...)` (the program tests/attack/attacker.c, inside)
and judges from outside: the secret was in nobody's output, the protected thing is
byte for byte what it was. Beside each attack stands the same operation where it
is allowed, or without cloche, so that a broken attack cannot pass for a wall.

Every attack runs as root and as an ordinary user, and with every backend. Where a
backend cannot hold a case, cloche must refuse the run and say why: such a test is
marked `@pytest.mark.refused(BACKEND="words of the refusal")`, and its first run
inside is then that refusal instead.
"""

import secrets

import pytest

from attacking import Jail, RefusedByName

BACKENDS = ["namespaces"]


@pytest.fixture
def secret():
    return f"secret-{secrets.token_hex(12)}"


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


def refusal_of(item, backend):
    mark = item.get_closest_marker("refused")
    return mark.kwargs.get(backend) if mark else None


@pytest.fixture
def jail(request, person, backend):
    return Jail(person, backend, refusal_of(request.node, backend))


def pytest_configure(config):
    config.addinivalue_line("markers", "refused(BACKEND=words): with that backend the run is refused with these words")


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    outcome = yield
    expected = "backend" in pyfuncitem.fixturenames and refusal_of(pyfuncitem, pyfuncitem.funcargs["backend"])
    if not expected:
        return
    if outcome.excinfo and issubclass(outcome.excinfo[0], RefusedByName):
        outcome.force_result(True)
    elif not outcome.excinfo:
        outcome.force_exception(AssertionError("this is not refused any more: take the mark away"))
