"""What the attacks share.

A test attacks with `jail.attack(...)` (the program tests/attack/attacker.c, inside)
and judges from outside: the secret was in nobody's output, the protected thing is
byte for byte what it was. Beside each attack stands the same operation where it
is allowed, or without cloche, so that a broken attack cannot pass for a wall.

Every attack runs as root and as an ordinary user, and with every backend. Where a
backend cannot hold a case, cloche must say so, and the test's first run inside is
judged by that instead:

    @pytest.mark.refused(BACKEND="words")     the run is refused with these words
    @pytest.mark.admitted(BACKEND="words")    it runs, and these words are said on stderr
"""

import secrets

import pytest

from attacking import Jail, SaidByName
from judging import landlock_abi

BACKENDS = ["namespaces", "landlock"]


@pytest.fixture
def secret():
    return f"secret-{secrets.token_hex(12)}"


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "landlock" and landlock_abi() < 6:
        pytest.skip("refused by name: the backend landlock needs Landlock ABI 6 (Linux 6.12)")
    return request.param


def said_of(item, kind, backend):
    mark = item.get_closest_marker(kind)
    return mark.kwargs.get(backend) if mark else None


@pytest.fixture
def jail(request, person, backend):
    return Jail(person, backend, **{kind: said_of(request.node, kind, backend) for kind in ("refused", "admitted")})


def pytest_configure(config):
    config.addinivalue_line("markers", "refused(BACKEND=words): with that backend the run is refused with these words")
    config.addinivalue_line("markers", "admitted(BACKEND=words): with that backend these words are said on stderr")


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    outcome = yield
    backend = pyfuncitem.funcargs.get("backend")
    if not any(said_of(pyfuncitem, kind, backend) for kind in ("refused", "admitted")):
        return
    if outcome.excinfo and issubclass(outcome.excinfo[0], SaidByName):
        outcome.force_result(True)
    elif not outcome.excinfo:
        outcome.force_exception(AssertionError("this is held now: take the mark away"))
