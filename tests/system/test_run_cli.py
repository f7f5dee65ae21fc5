"""`cloche run` as a command line: what starts, what is refused, and that explain
answers for exactly that run. (How runs end is test_run.py's subject.)"""


class TestCommand:
    def test_options_end_at_the_first_word_that_is_not_one(self, person):
        person.file("f", "x\nx\n")
        answer = person.cloche("run", "grep", "-c", "x", "f")
        assert (answer.returncode, answer.stdout) == (0, "2\n")

    def test_two_dashes_end_the_options(self, person):
        answer = person.cloche("run", "--", "echo", "-q", "--help")
        assert answer.stdout == "-q --help\n"

    def test_shell_text(self, person):
        answer = person.cloche("run", "-c", "echo $((6 * 7)); exit 5")
        assert (answer.returncode, answer.stdout) == (5, "42\n")

    def test_nothing_of_our_own_goes_to_stdout_or_stderr_when_all_is_well(self, person):
        answer = person.cloche("run", "true")
        assert (answer.stdout, answer.stderr) == ("", "")

    def test_verbose_says_which_policy_and_where(self, person):
        said = person.cloche("run", "-v", "true").stderr.splitlines()
        assert said[:3] == ["cloche: policy: preset:dev", f"cloche: project: {person.project}",
                            f"cloche: starts in: {person.project}"]  # fmt: skip
        assert all(line.startswith("cloche: ") for line in said)

    def test_command_starts_where_it_was_called_if_that_is_in_the_project(self, person):
        below = person.directory(person.project / "src/deep")
        assert person.cloche("run", "-C", "../..", "pwd", cwd=below).stdout == f"{below}\n"
        assert person.cloche("run", "pwd", environment={"CLOCHE_PROJECT": str(person.project)}, cwd=below).stdout == (
            f"{below}\n"
        )

    def test_settings_may_be_the_policy_itself(self, person):
        person.file("kept", "1\n")
        denied = person.cloche("run", "-s", '{"filesystem":{"allowWrite":["."],"denyWrite":["kept"]}}',
                               "-c", "echo 2 >kept; echo 3 >made")  # fmt: skip
        assert (denied.returncode, (person.project / "kept").read_text(), (person.project / "made").read_text()) == (
            0, "1\n", "3\n")  # fmt: skip
        wrong = person.cloche("run", "-s", '{"filesystm":{}}', "true")
        assert wrong.returncode == 125 and "command line: filesystm" in wrong.stderr

    def test_command_starts_in_the_project_when_called_elsewhere(self, person):
        assert person.cloche("run", "-C", person.project, "pwd", cwd="/").stdout == f"{person.project}\n"


class TestRefusal:
    def test_home_is_not_a_project_by_implication(self, person):
        answer = person.cloche("run", "touch", "made", cwd=person.home)
        assert answer.returncode == 125
        assert not (person.home / "made").exists()
        assert person.cloche("run", "--allow-degraded", "late-names", "-C", ".", "touch", "made", cwd=person.home).returncode == 0
        assert (person.home / "made").exists()

    def test_keys_that_are_not_enforced_yet_are_refused_by_name_all_at_once(self, person):
        policy = person.file(
            "policy.json", {"network": {"tlsTerminate": {}, "stripResponseHeaders": ["x-a"]}}
        )
        answer = person.cloche("run", "-s", policy, "touch", "made")
        assert answer.returncode == 125
        lines = answer.stderr.splitlines()
        assert all(line.startswith("cloche: refused: ") for line in lines), lines
        for path in ("network.tlsTerminate", "network.stripResponseHeaders"):
            assert sum(f"{policy}: {path}" in line and "not enforced yet" in line for line in lines) == 1, path
        assert not (person.project / "made").exists()

    def test_same_policy_without_those_keys_runs(self, person):
        policy = person.file("policy.json", {"filesystem": {"allowWrite": ["."]}})
        assert person.cloche("run", "-s", policy, "touch", "made").returncode == 0
        assert (person.project / "made").exists()

    def test_late_names_are_refused_and_can_be_waived_by_name(self, person):
        # Without a filter there is no doorman.
        policy = person.file("policy.json", {"extends": ["preset:dev"], "filesystem": {"denyWrite": ["later"]},
                                             "seccomp": {"enabled": False}})
        refused = person.cloche("run", "-s", policy, "true")
        assert refused.returncode == 125
        assert "--allow-degraded late-names" in refused.stderr
        waived = person.cloche("run", "-s", policy, "--allow-degraded", "late-names", "true")
        assert waived.returncode == 0
        assert "accepted by --allow-degraded late-names" in waived.stderr
        assert person.cloche("run", "-q", "-s", policy, "--allow-degraded=late-names", "true").stderr == ""

    def test_broken_policy_runs_nothing(self, person):
        policy = person.file("policy.json", '{"filesystem": {"allowWrite": ["."], "oops": 1}}')
        answer = person.cloche("run", "-s", policy, "touch", "made")
        assert answer.returncode == 125
        assert f"cloche: {policy}: filesystem.oops: " in answer.stderr
        assert not (person.project / "made").exists()

    def test_network_of_the_host_is_warned_about(self, person):
        policy = person.file("policy.json", {"network": {"mode": "host"}})
        answer = person.cloche("run", "-s", policy, "true")
        assert answer.returncode == 0
        assert f"uses the host's network, unfiltered ({policy}: network.mode)" in answer.stderr


class TestAgreement:
    """explain answers for exactly that run."""

    def attempt(self, person, operation, path, *options):
        probe = {"read": 'test -d "$0" && ls "$0" || cat "$0"', "write": 'test -d "$0" && touch "$0/w" || : >>"$0"'}
        command = ["run", "-q", *options, "sh", "-c", probe[operation] + " >/dev/null 2>&1", str(path)]
        return person.cloche(*command).returncode == 0

    def test_run_does_what_explain_says(self, person):
        person.file("src/main.c")
        person.file(".git/config")
        person.file(".git/hooks/pre-commit")
        person.file(".env", "SECRET=1")
        person.file(person.home / ".ssh/id")
        person.file(person.home / ".gitconfig")
        person.file(person.home / "notes/n")
        paths = [
            person.project / "src/main.c",
            person.project / ".git/hooks/pre-commit",
            person.project / ".git/config",
            person.project / ".env",
            person.home / ".ssh/id",
            person.home / ".ssh",
            person.home / ".gitconfig",
            person.home / "notes/n",
            "/etc/passwd",
            "/usr/bin",
            "/proc/sys/kernel/hostname",
            "/dev/null",
            "/tmp",
        ]
        for options in ([], ["--allow-read", f"{person.home}/.ssh"], ["--allow-write", f"{person.home}/notes"],
                        ["-p", "readonly"], ["-p", "workspace"], ["--deny-read", "src"]):  # fmt: skip
            questions = [f"{operation}:{path}" for path in paths for operation in ("read", "write")]
            for answer in person.explain(*options, *questions)["answers"]:
                expected = answer["verdict"] == "allowed"
                done = self.attempt(person, answer["operation"], answer["object"], *options)
                assert done == expected, (options, answer)

    def test_environment_inside_is_what_explain_says(self, person):
        variables = {"MY_TOKEN": "x", "PLAIN": "y", "WANTED_SECRET": "z"}
        options = ["--env", "WANTED_SECRET", "--env", "EXTRA=1"]
        plan = person.explain(*options, environment=variables)["environment"]
        inside = person.cloche("run", *options, "env", "-0", environment=variables).stdout
        names = {line.split("=")[0] for line in inside.split("\0") if line}
        assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == set(plan["inside"]) - {"PWD"}
        assert "MY_TOKEN" in plan["heldBack"] and "MY_TOKEN" not in names
        assert {"PLAIN", "WANTED_SECRET", "EXTRA"} <= names


def test_policy_in_a_directory_above_is_mentioned_not_taken(person):
    person.file(".cloche.json", {"extends": ["preset:dev"]})
    part = person.directory(person.project / "part")
    answer = person.cloche("run", "true", cwd=part)
    assert answer.returncode == 0
    assert answer.stderr == (
        f"cloche: {person.project}/.cloche.json is not used from here; to run in its project: -C {person.project}\n"
    )
    assert person.cloche("run", "-C", part, "true", cwd=part).stderr == ""


def test_grant_of_what_does_not_exist_is_said_to_be_left_out(person):
    policy = person.file("policy.json", {"extends": ["preset:dev"], "filesystem": {"allowWrite": ["~/builds"]}})
    answer = person.cloche("run", "-s", policy, "true")
    assert answer.returncode == 0
    assert answer.stderr == (
        f"cloche: {policy}: filesystem.allowWrite[0]: ~/builds does not exist and is left out: make it before the run\n"
    )
    person.directory("builds")
    assert person.cloche("run", "-s", policy, "true").stderr == ""
