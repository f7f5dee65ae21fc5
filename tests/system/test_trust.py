"""Which policy governs, and when a project's own may."""

import pytest


@pytest.fixture
def project_policy(person):
    """A project policy that is noticed: it lets /opt be written."""
    person.file("team.json", {"filesystem": {"allowWrite": ["/opt"]}})
    return person.file(".cloche.json", {"extends": ["preset:dev", "./team.json"]})


def counts(person):
    return person.allowed("write:/opt")


def test_untrusted_project_policy_is_passed_over_with_one_line(person, project_policy):
    answer = person.cloche("explain", "write:/opt")
    assert answer.returncode == 1
    assert [line for line in answer.stderr.splitlines() if "not trusted" in line] == [
        f"cloche: {project_policy} is not trusted as it is now, and was passed over; read it, then: cloche trust {project_policy}"
    ]


def test_trusted_project_policy_counts(person, project_policy):
    assert person.cloche("trust").returncode == 0
    assert counts(person)
    assert "not trusted" not in person.cloche("explain", "write:/opt").stderr


def test_trust_by_name_from_elsewhere(person, project_policy):
    assert person.cloche("trust", project_policy, cwd=person.home).returncode == 0
    assert counts(person)


@pytest.mark.parametrize("changed", [".cloche.json", "team.json"])
def test_any_change_ends_trust(person, project_policy, changed):
    assert person.cloche("trust").returncode == 0
    assert counts(person)
    with open(person.project / changed, "a") as file:
        file.write("\n")
    assert not counts(person)
    assert person.cloche("trust", "--status").returncode == 1


def test_revoked_trust_counts_no_more(person, project_policy):
    assert person.cloche("trust").returncode == 0
    assert person.cloche("trust", "--revoke").returncode == 0
    assert not counts(person)


def test_status_says_which(person, project_policy):
    before = person.cloche("trust", "--status")
    assert (before.returncode, before.stdout) == (1, f"{project_policy}: not trusted\n")
    person.cloche("trust")
    after = person.cloche("trust", "--status")
    assert (after.returncode, after.stdout) == (0, f"{project_policy}: trusted\n")


def test_policy_that_is_not_valid_is_not_trusted(person):
    policy = person.file(".cloche.json", {"nonsense": 1})
    answer = person.cloche("trust")
    assert answer.returncode == 1
    assert f"cloche: {policy}: nonsense: " in answer.stderr
    assert "was not trusted" in answer.stderr
    assert person.cloche("trust", "--status").returncode == 1


def test_absent_policy_cannot_be_trusted(person):
    answer = person.cloche("trust")
    assert answer.returncode == 1
    assert answer.stderr == "cloche: there is no .cloche.json here; cloche init writes one\n"


def test_trust_store_is_private(person, project_policy):
    person.cloche("trust")
    stored = [path for path in (person.home / ".local/state/cloche/trust").rglob("*") if path.is_file()]
    assert len(stored) == 1
    assert stored[0].stat().st_mode & 0o777 == 0o600


class TestOrder:
    """First found: --settings, $CLOCHE_POLICY, trusted project policy, the user's, srt's, dev."""

    @pytest.fixture(autouse=True)
    def all_of_them(self, person):
        person.file(".cloche.json", {})
        person.cloche("trust")
        person.file(person.home / ".config/cloche/policy.json", {})
        person.file(
            person.home / ".srt-settings.json",
            {
                "network": {"allowedDomains": [], "deniedDomains": []},
                "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []},
            },
        )
        person.file("named.json", {})
        person.file("variable.json", {})

    def test_each_stands_behind_the_one_before(self, person):
        variable = {"CLOCHE_POLICY": str(person.project / "variable.json")}
        assert person.explain("-s", "named.json", environment=variable)["policy"] == ["named.json"]
        assert person.explain(environment=variable)["policy"] == [variable["CLOCHE_POLICY"]]
        for file in (
            person.project / ".cloche.json",
            person.home / ".config/cloche/policy.json",
            person.home / ".srt-settings.json",
        ):
            assert person.explain()["policy"] == [str(file)]
            file.unlink()
        assert person.explain()["policy"] == ["preset:dev"]

    def test_broken_policy_is_an_error_and_never_a_fall_back(self, person):
        person.file(person.home / ".config/cloche/policy.json", "")
        (person.project / ".cloche.json").unlink()
        answer = person.cloche("explain", "read:/usr")
        assert answer.returncode == 125
        assert "policy.json" in answer.stderr
