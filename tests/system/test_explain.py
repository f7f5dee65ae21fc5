"""`cloche explain`: verdict, rule, lock, and a hint that helps."""

import json
import shlex

import pytest


def only(person, question, *arguments, **keywords):
    answers = person.explain(*arguments, question, **keywords)["answers"]
    assert len(answers) == 1
    return answers[0]


class TestAnswers:
    def test_allowed_and_denied_by_exit_status(self, person):
        assert person.cloche("explain", "read:/usr").returncode == 0
        assert person.cloche("explain", "write:/usr").returncode == 1
        assert person.cloche("explain", "read:/usr", "write:/usr").returncode == 1

    def test_bare_path_asks_for_reading_and_writing(self, person):
        answers = person.explain("/usr")["answers"]
        assert [(each["operation"], each["verdict"]) for each in answers] == [("read", "allowed"), ("write", "denied")]

    def test_answer_names_rule_file_and_place(self, person):
        policy = person.file("policy.json", {"filesystem": {"denyRead": ["/opt", "/srv"]}})
        answer = only(person, "read:/srv/www", "-s", policy)
        assert answer["verdict"] == "denied"
        assert answer["rule"] == {"file": str(policy), "path": "filesystem.denyRead[1]", "text": "/srv"}
        line = person.cloche("explain", "-s", policy, "read:/srv/www").stdout
        assert line.startswith("denied   read   /srv/www  ")
        assert f'"/srv" ({policy}: filesystem.denyRead[1])' in line
        assert "held by mount" in line
        assert line.count("\n") == 1

    def test_path_is_judged_by_what_it_really_is(self, person):
        person.directory(person.home / "secret")
        link = person.link("innocent", person.home / "secret")
        policy = person.file("policy.json", {"filesystem": {"denyRead": ["~/secret"]}})
        answer = only(person, f"read:{link}/key", "-s", policy)
        assert answer["verdict"] == "denied"
        assert answer["real"] == f"{person.home}/secret/key"
        line = person.cloche("explain", "-s", policy, f"read:{link}/key").stdout
        assert f"{link}/key -> {person.home}/secret/key" in line

    def test_dots_behind_a_link_lead_where_the_kernel_would_go(self, person):
        person.directory(person.home / "far/away")
        person.file(person.home / "far/secret")
        link = person.link("near", person.home / "far/away")
        policy = person.file("policy.json", {"filesystem": {"denyRead": ["~/far/secret"]}})
        answer = only(person, f"read:{link}/../secret", "-s", policy)
        assert answer["real"] == f"{person.home}/far/secret"
        assert answer["verdict"] == "denied"

    def test_hint_names_the_target_of_a_link_and_not_the_link(self, person):
        person.directory(person.home / "data")
        person.link("data", person.home / "data")
        answer = only(person, "write:data", "-p", "dev")
        assert answer["hint"]["option"] == f"--allow-write {person.home}/data"

    def test_relative_paths_and_home_are_understood(self, person):
        person.file("src/main.c")
        assert only(person, "write:src/main.c")["object"] == str(person.project / "src/main.c")
        assert only(person, "read:~/.ssh")["object"] == str(person.home / ".ssh")
        assert person.explain("./src")["answers"][0]["object"] == str(person.project / "src")

    def test_relative_name_is_a_path_if_it_looks_like_one_or_is_there(self, person):
        person.file("Makefile")
        for word in ("Makefile", "src/absent.c"):
            answers = person.explain(word)["answers"]
            assert [(each["operation"], each["object"]) for each in answers] == [
                ("read", str(person.project / word)), ("write", str(person.project / word))]

    def test_denial_that_no_lock_holds_is_not_called_denied(self, person):
        person.directory(person.project / ".git/hooks")
        policy = person.file(person.home / "p.json", {"extends": ["preset:dev"], "allowNestedUserNamespaces": True})
        questions = ["-s", str(policy), "write:.git/hooks/x", "write:.vscode/tasks.json"]
        answer = person.cloche("explain", *questions)
        assert answer.returncode == 1
        assert [line.split()[0] for line in answer.stdout.splitlines()] == ["denied", "unheld"]
        held, not_held = person.explain(*questions)["answers"]
        assert (held["verdict"], held["held"]) == ("denied", True)
        assert (not_held["verdict"], not_held["held"]) == ("denied", False)

    def test_what_a_plain_answer_would_leave_open_is_said(self, person):
        assert only(person, "env:NOT_THERE")["note"] == "(not set now)"
        assert only(person, "env:THERE", environment={"THERE": "1"})["note"] is None
        assert "what the host has there is not visible" in only(person, "read:/tmp")["note"]
        assert only(person, "read:/tmp/absent-on-the-host")["note"] is None
        for host in ("localhost:8080", "127.0.0.1", "[::1]:80"):
            assert only(person, f"net:{host}")["note"] == "its own loopback works; the host's is not reachable"
        assert only(person, "net:128.0.0.1")["note"] is None
        assert person.cloche("explain", "net:localhost:8080").stdout.endswith("; to allow: --host-port 8080\n")
        assert person.cloche("explain", "net:127.0.0.1").stdout.endswith("; to allow one port of it: --host-port PORT\n")

    def test_environment(self, person):
        assert person.allowed("env:LANG")
        assert not person.allowed("env:GH_TOKEN")
        assert person.allowed("env:GH_TOKEN", "--env", "GH_TOKEN")
        assert only(person, "env:GH_TOKEN")["locks"] == ["environment"]

    def test_network_without_any_allowed_domain_is_none(self, person):
        answer = only(person, "net:example.com:443")
        assert answer["verdict"] == "denied"
        assert answer["locks"] == ["namespace"]

    def test_network_by_name(self, person):
        options = ["--allow-domain", "*.example.com", "--deny-domain", "bad.example.com"]
        assert person.allowed("net:a.example.com:443", *options)
        assert person.allowed("net:A.Example.COM.", *options)
        assert not person.allowed("net:example.com", *options)
        assert not person.allowed("net:bad.example.com", *options)

    def test_host_is_shown_in_the_form_that_was_judged(self, person):
        assert only(person, "net:EXAMPLE.com:443")["real"] == "example.com:443"

    def test_unix_sockets(self, person):
        assert not person.allowed("unix:/run/docker.sock")
        assert person.allowed("unix:/run/docker.sock", "--allow-unix", "/run/docker.sock")

    def test_options_of_the_run_are_part_of_the_question(self, person):
        assert not person.allowed("write:/opt")
        assert person.allowed("write:/opt", "--allow-write=/opt")
        assert not person.allowed("write:/opt", "--allow-write", "/opt", "--deny-write", "/opt")

    def test_rules_that_depend_on_the_command_see_it(self, person):
        person.directory(person.home / ".aws")
        rule = {"path": "$HOME/.aws", "access": "read", "when": {"command": "aws *"}}
        policy = person.file("policy.json", {"rules": [rule]})
        question = f"read:{person.home}/.aws"
        assert not person.allowed(question, "-s", policy)
        answer = person.cloche("explain", "-s", policy, question, "--", "aws", "s3", "ls")
        assert answer.returncode == 0, answer.stdout + answer.stderr


class TestHints:
    """What a hint says to add does allow it: nobody is sent round in circles."""

    def followed(self, person, question, *arguments):
        answer = only(person, question, *arguments)
        assert answer["verdict"] == "denied"
        hint = answer["hint"]
        assert hint, answer
        more = shlex.split(hint["option"]) if hint["option"] else []
        if hint["policy"]:
            more += ["-s", str(person.file("hint.json", "{" + hint["policy"] + "}"))]
        return person.allowed(question, *arguments, *more), hint

    def test_hidden_directory(self, person):
        person.directory(person.home / ".ssh")
        allowed, hint = self.followed(person, "read:~/.ssh", "-p", "dev")
        assert allowed
        assert hint["option"] == f"--allow-read {person.home}/.ssh"

    def test_existing_directory_outside_the_project(self, person):
        allowed, hint = self.followed(person, "write:/opt", "-p", "dev")
        assert allowed
        assert hint["option"] == "--allow-write /opt"

    def test_file_that_does_not_exist_yet(self, person):
        person.directory(person.home / "data")
        person.directory(person.home / ".ssh")
        for question, option in (("write:~/data/new/file", "--allow-write"), ("read:~/absent", "--allow-read"),
                                 ("read:~/.ssh/absent", "--allow-read")):
            path = question.split("~/")[1]
            hint = only(person, question, "-p", "dev")["hint"]
            assert hint == {"before": "make it", "option": f"{option} {person.home}/{path}", "policy": None}
            line = person.cloche("explain", "-p", "dev", question).stdout
            assert line.endswith(f"; to allow: make it, then {option} {person.home}/{path}\n")
            person.file(person.home / path)
            assert person.allowed(question, "-p", "dev", *shlex.split(hint["option"]))

    def test_rule_with_a_condition_is_taken_out_by_name(self, person):
        """As those are that keep /etc/shadow from root: no --allow-read of the same path beats one."""
        rule = {"path": str(person.file("kept")), "access": "none", "when": {"env": "HOME"}}
        policy = person.file(person.home / "policy.json", {"extends": ["preset:dev"], "rules": [rule]})
        allowed, hint = self.followed(person, "read:kept", "-s", policy)
        assert allowed
        assert hint["policy"] == f'"rules": ["!{rule["path"]}"]'
        # Below it a grant does, and nothing more is taken out than was asked for.
        rule["path"] = str(person.directory(person.project / "all"))
        person.file("all/one")
        person.file(policy, {"extends": ["preset:dev"], "rules": [rule]})
        allowed, hint = self.followed(person, "read:all/one", "-s", policy)
        assert allowed and hint["policy"] is None

    def test_entry_that_was_left_out_is_named(self, person):
        lists = {"allowWrite": ["~/my builds/x"], "allowRead": ["~/tool"], "denyWrite": ["~/my builds/x/no"]}
        policy = person.file(person.home / "policy.json", {"extends": ["preset:dev"], "filesystem": lists})
        line = person.cloche("explain", "-s", policy, "write:~/my builds/x/y").stdout
        assert 'allowWrite "~/my builds/x" does not exist and is left out' in line
        assert f"({policy}: filesystem.allowWrite[0])" in line
        assert line.endswith(f"; to allow: mkdir -p '{person.home}/my builds/x'\n")
        line = person.cloche("explain", "-s", policy, "read:~/tool").stdout
        assert 'allowRead "~/tool" does not exist and is left out' in line and line.endswith("to allow: make it\n")
        assert "left out" not in person.cloche("explain", "-s", policy, "write:~/my builds/x/no").stdout
        person.directory(person.home / "my builds/x")
        assert person.allowed("write:~/my builds/x/y", "-s", policy)

    def test_no_hint_opens_the_home_or_the_configuration_of_the_system(self, person):
        for question in ("write:~/new-file", "write:/etc/new-file", "write:/new-file"):
            hint = only(person, question, "-p", "dev")["hint"]
            assert hint["before"] == "make it"
            assert hint["option"].endswith("new-file")

    def test_protected_name(self, person):
        person.directory(person.project / ".git/hooks")
        allowed, hint = self.followed(person, "write:.git/hooks/pre-commit", "-p", "dev")
        assert allowed
        assert hint["option"] is None
        assert json.loads("{" + hint["policy"] + "}") == {"filesystem": {"unprotect": [".git/hooks/"]}}

    def test_hidden_and_protected_name(self, person):
        for name in (".bashrc", ".gitconfig"):
            path = person.file(person.home / name)
            allowed, hint = self.followed(person, f"write:~/{name}", "-p", "dev")
            assert allowed and hint["option"] == f"--allow-write {path}"
            assert json.loads("{" + hint["policy"] + "}") == {"filesystem": {"unprotect": [name]}}
            line = person.cloche("explain", f"write:~/{name}").stdout
            options = shlex.split(line.split("; to allow: ")[1])
            assert options[:4] == ["--allow-write", str(path), "-p", "dev"]
            assert person.allowed(f"write:~/{name}", *options)

    def test_deny_write_is_lifted_by_taking_it_back(self, person):
        person.directory(person.project / "vendor")
        policy = person.file("policy.json", {"extends": ["preset:dev"], "filesystem": {"denyWrite": ["vendor"]}})
        allowed, hint = self.followed(person, "write:vendor/x", "-s", str(policy))
        assert allowed
        assert json.loads("{" + hint["policy"] + "}") == {"filesystem": {"denyWrite": ["!vendor"]}}

    def test_variable(self, person):
        allowed, hint = self.followed(person, "env:MY_API_KEY", "-p", "dev")
        assert allowed
        assert hint["option"] == "--env MY_API_KEY"

    def test_hint_for_the_network_leads_to_a_run_that_starts(self, person):
        allowed, hint = self.followed(person, "net:example.com:443", "-p", "dev")
        assert allowed
        assert hint["option"] == "--allow-domain example.com:443"
        assert person.cloche("run", "-p", "dev", *hint["option"].split(), "true").returncode == 0
        line = person.cloche("explain", "-p", "dev", "net:example.com:443").stdout
        assert "to allow: --allow-domain example.com:443" in line
        assert "--host-port 5432" in person.cloche("explain", "--allow-domain", "x.com", "net:localhost:5432").stdout

    def test_hint_for_a_socket_is_for_where_sockets_are_told_apart(self, person):
        allowed, hint = self.followed(person, "unix:/run/some.sock", "-p", "dev")
        assert allowed
        assert hint["option"] == "--allow-unix /run/some.sock"
        assert only(person, "unix:@abstract", "-p", "dev")["hint"]["option"] == "--allow-unix @abstract"
        policy = person.file("policy.json", {"seccomp": {"blockUnixSockets": True}})
        assert only(person, "unix:/run/some.sock", "-s", str(policy))["hint"] is None

    def test_denied_domains_have_no_hint_that_a_run_would_refuse(self, person):
        network = {"allowedDomains": ["*.example.com"], "deniedDomains": ["bad.example.com"]}
        policy = person.file("policy.json", {"network": network})
        assert only(person, "net:bad.example.com", "-s", str(policy))["hint"] is None

    def test_denial_on_the_command_line_is_lifted_by_leaving_it_out(self, person):
        options = ["--allow-domain", "*.example.com", "--deny-domain", "bad.example.com"]
        assert only(person, "net:bad.example.com", *options)["hint"] is None
        assert "leave out --deny-domain" in person.cloche("explain", *options, "net:bad.example.com").stdout

    def test_path_with_hostile_bytes_can_be_pasted(self, person):
        name = b"a b\x1b'\xff\n".decode(errors="surrogateescape")
        place = person.directory(person.home / "x" / name)
        answer = person.cloche("explain", "-p", "dev", f"write:{place}")
        assert answer.returncode == 1
        assert "\x1b" not in answer.stdout and answer.stdout.count("\n") == 1
        option = answer.stdout.split("to allow: ")[1].strip()
        assert option.endswith(r"/x/a b\x1b\x27\xff\x0a'")
        assert person.allowed(f"write:{place}", "-p", "dev", "--allow-write", str(place))

    def test_what_is_never_allowed_has_no_hint(self, person):
        person.cloche("init")
        person.cloche("trust")
        state = person.home / ".local/state/cloche"
        for question in (f"write:{state}", "read:/proc/kcore", "write:/proc/sys/kernel/core_pattern"):
            answer = only(person, question, "-p", "dev")
            assert answer["verdict"] == "denied"
            assert answer["hint"] is None, question
        assert "nothing allows it" in person.cloche("explain", "-p", "dev", "read:/proc/kcore").stdout


class TestPlan:
    def test_whole_plan_names_every_part(self, person):
        answer = person.cloche("explain", environment={"MY_TOKEN": "hush-hush"})
        assert answer.returncode == 0
        for word in ("project ", "policy ", "network ", "environment ", "held back ", "limits ", "filter ", "files", "rules"):
            assert f"\n{word}" in "\n" + answer.stdout, word
        assert "MY_TOKEN" in answer.stdout

    def test_values_of_variables_are_never_shown(self, person):
        shown = person.cloche("explain", environment={"MY_TOKEN": "hush-hush", "OTHER": "also-hush"})
        assert "hush" not in shown.stdout + shown.stderr
        assert "hush" not in json.dumps(person.explain(environment={"MY_TOKEN": "hush-hush", "OTHER": "also-hush"}))

    def test_plan_is_the_same_every_time(self, person):
        assert person.cloche("explain").stdout == person.cloche("explain").stdout

    def test_json_has_its_stable_keys(self, person):
        plan = person.explain()
        assert plan.pop("status") == 0
        assert set(plan) == {
            "version", "project", "workingDirectory", "backend", "weaker", "policy", "passedOver", "warnings", "refusals",
            "steps", "network", "environment", "descriptors", "limits", "limitsHeldBy", "filter", "capabilities", "doorman", "rules",
        }  # fmt: skip
        assert plan["version"] == 1
        assert plan["project"] == plan["workingDirectory"] == str(person.project)

    def test_json_answers_have_their_stable_keys(self, person):
        answers = person.explain("/usr", "env:HOME")
        assert answers["allowed"] is False
        path, _, variable = answers["answers"]
        common = {"question", "operation", "object", "real", "verdict", "held", "why", "reason", "rule", "locks", "note", "hint"}
        assert set(variable) == common
        assert set(path) == common | {"access", "backing", "passage"}

    def test_rules_that_put_a_doorman_at_the_door_are_named(self, person):
        unwatched = '{"extends": ["preset:readonly"], "violation": {"watch": "off"}}'
        assert person.explain("--settings", unwatched, "--deny-write", "x")["doorman"]["files"] is False
        watched = person.explain("-p", "readonly")["doorman"]
        assert watched["files"] and "watching what is refused" in {each["text"] for each in watched["reasons"]}
        told = person.explain("-p", "dev", "--deny-write", "later", "--deny-write", "**/*.lock", "--allow-write", "/var/log/*.made")
        doorman = told["doorman"]
        assert (doorman["files"], doorman["sockets"], doorman["datagrams"]) == (True, True, False)
        assert {"protected names", "later", "**/*.lock", "/var/log/*.made", "sockets of the host"} <= {each["text"] for each in doorman["reasons"]}
        assert {"path": str(person.project), "byPattern": False} in doorman["roots"]
        held = {rule["text"]: rule["locks"] for rule in told["rules"]}
        assert held["later"] == held["**/*.lock"] == held["/var/log/*.made"] == held["protected names"] == ["doorman"]
        text = person.cloche("explain", "-p", "dev", "--deny-write", "later").stdout
        assert "doorman      asked before files are changed by name" in text
        assert "for later  (command line: --deny-write)" in text

    def test_what_a_run_would_refuse_is_said_by_name(self, person):
        refused = person.explain("--host-port", "3128")["refusals"]
        assert any("--host-port" in each["path"] for each in refused)
        assert person.explain("-p", "dev")["refusals"] == []


class TestWrongQuestions:
    @pytest.mark.parametrize(
        "question, words",
        [
            ("wrte:/x", 'did you mean "write:/x"?'),
            ("nonsense", 'did you mean "read:nonsense"?'),
            ("foo:x", "ask read:PATH"),
            ("read:", "asks about nothing"),
            ("net:0x7f.1", "0x7f.1"),
            ("net:a b", "a b"),
            ("env:A=B", '"="'),
            ("read:/\x1b[2J", None),
        ],
    )
    def test_question_that_makes_no_sense_is_refused(self, person, question, words):
        answer = person.cloche("explain", question)
        assert "\x1b" not in answer.stdout + answer.stderr
        if words:
            assert answer.returncode == 125
            assert words in answer.stderr

    def test_policy_with_problems_is_refused_with_all_of_them(self, person):
        policy = person.file("policy.json", {"filesystem": {"alowRead": [], "tmp": "nowhere"}})
        answer = person.cloche("explain", "-s", policy, "read:/usr")
        assert answer.returncode == 125
        assert f"cloche: {policy}: filesystem.alowRead: " in answer.stderr
        assert f"cloche: {policy}: filesystem.tmp: " in answer.stderr

    def test_home_is_never_taken_as_the_project_by_implication(self, person):
        answer = person.cloche("explain", "read:/usr", cwd=person.home)
        assert answer.returncode == 125
        assert "-C" in answer.stderr
        assert person.cloche("explain", "-C", ".", "read:/usr", cwd=person.home).returncode == 0
