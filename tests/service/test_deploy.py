"""The files of deploy/ fit each other, the command line, and the metrics that there are. No daemon is needed."""

import fnmatch
import json
import re
import subprocess
import sys
from pathlib import Path

import yaml

from maskedbandit.cli import parser
from maskedbandit.service.helping.totals import LONGEST_LIST
from maskedbandit.service.host.metrics import Metrics
from maskedbandit.service.request.connection import BODY_TIME, HEAD, HEAD_TIME, IDLE_TIME, URL
from maskedbandit.service.request.events import QUIET
from maskedbandit.service.request.limits import BATCH
from tests.for_each import for_each

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
NGINX = (DEPLOY / "nginx.conf").read_text()
TWO = yaml.safe_load((DEPLOY / "two_operators.yaml").read_text())
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def instruction(name: str) -> list[str]:
    """What is said by all instructions of a name."""
    joined = DOCKERFILE.replace("\\\n", " ")
    return re.findall(rf"^{name} +(.*)$", joined, re.MULTILINE)


def linted(text: str) -> subprocess.CompletedProcess[str]:
    hadolint = Path(sys.executable).parent / "hadolint"
    return subprocess.run([hadolint, "-"], input=text, capture_output=True, text=True, timeout=60)


def test_the_linter_finds_nothing_in_the_dockerfile() -> None:
    found = linted(DOCKERFILE)
    assert found.returncode == 0, found.stdout


def test_the_linter_finds_what_is_wrong() -> None:
    assert linted(DOCKERFILE.replace("python:3.13-slim", "python")).returncode != 0


def command(rest: list[str]) -> list[str]:
    """What a container runs."""
    entry = json.loads(instruction("ENTRYPOINT")[0])
    assert entry[0] == "maskedbandit"
    return entry[1:] + rest


@for_each(
    "rest",
    [
        json.loads(instruction("CMD")[-1]),
        *(COMPOSE["services"][name]["command"] for name in ("first", "second")),
        *(each["command"] for each in TWO["services"].values()),
    ],
)
def test_the_commands_are_ours(rest: list[str]) -> None:
    options = parser().parse_args(command(rest))
    assert str(options.witness) == "/witness"
    assert str(options.metrics_port) in instruction("EXPOSE")[0].split()


def test_what_is_copied_is_there_and_not_ignored() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for line in instruction("COPY"):
        for each in line.split()[:-1]:
            assert (ROOT / each).exists()
            assert any(fnmatch.fnmatch(each, pattern) for pattern in kept), f"{each} is left out of the build"


@for_each("text", [DOCKERFILE, (ROOT / "docs" / "service.md").read_text()])
def test_a_container_that_is_run_as_we_say_has_names_for_all_its_volumes(text: str) -> None:
    (run,) = re.findall(r"docker run .*", text)
    named = dict(each.split(":") for each in re.findall(r"--volume (\S+)", run))
    assert list(named.values()) == json.loads(instruction("VOLUME")[0])
    assert all(re.fullmatch("[a-z]+", name) for name in named)


def test_the_compose_file_names_what_there_is() -> None:
    services = COMPOSE["services"]
    for service in services.values():
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert source in COMPOSE["volumes"] or (DEPLOY / source).exists()
        assert set(service.get("depends_on", {})) <= set(services)
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), "a port that everybody reaches without TLS"
    build = services["first"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    # the witness of all processes is one, and is not where the database is
    assert services["first"]["volumes"] == services["second"]["volumes"] == ["witness:/witness"]
    assert "witness" not in str(services["database"]["volumes"])


def test_two_operators_share_nothing_but_a_network() -> None:
    leader, helper = (TWO["services"][name] for name in ("leader", "helper"))
    roles = [parser().parse_args(command(each["command"])).role for each in (leader, helper)]
    assert roles == ["leader", "helper"]
    used = [volume.partition(":")[0] for each in (leader, helper) for volume in each["volumes"]]
    assert sorted(used) == sorted(TWO["volumes"])
    assert len({*used}) == 4, "a volume of both operators"
    assert [volume.partition(":")[2] for volume in helper["volumes"]] == json.loads(instruction("VOLUME")[0])
    assert "ports" not in helper
    assert all(port.startswith("127.0.0.1:") for port in leader["ports"])
    assert {*leader["networks"]} & {*helper["networks"]} == {"operators"}
    assert {*leader["networks"]} | {*helper["networks"]} == {*TWO["networks"]}


def test_prometheus_asks_the_servers() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text())
    targets = config["scrape_configs"][0]["static_configs"][0]["targets"]
    assert [target.partition(":")[0] for target in targets] == ["first", "second"]
    assert {target.partition(":")[2] for target in targets} <= set(instruction("EXPOSE")[0].split())


def unknown_metrics(dashboard: str) -> set[str]:
    """The metrics of ours that a dashboard draws and that no server has."""
    metrics = Metrics()
    metrics.answered("/v1/studies", 503, 0.1)
    metrics.study("x", "running", 1, True)
    metrics.places("x", 1, 1)
    known = {sample.name for family in metrics.registry.collect() for sample in family.samples}
    return set(re.findall(r"maskedbandit_\w+", dashboard)) - known


def test_the_dashboard_draws_metrics_that_there_are() -> None:
    text = (DEPLOY / "dashboard.json").read_text()
    assert len(json.loads(text)["panels"]) == 9
    assert unknown_metrics(text) == set()
    assert unknown_metrics(text.replace("_people", "_rewards")) == {"maskedbandit_study_rewards"}


def directive(name: str) -> list[str]:
    """What the example of a proxy says of something, each time."""
    return re.findall(rf"^ *{name} +(.*?);", NGINX, re.MULTILINE)


def test_a_run_names_both_volumes() -> None:
    """One without a name is lost with its container, and a database without its witness cannot be used."""
    kept = json.loads(instruction("VOLUME")[0])
    (shown,) = re.findall(r"^# +docker run (.*)$", DOCKERFILE, re.MULTILINE)
    named = dict(each.partition(":")[::2] for each in re.findall(r"--volume (\S+)", shown))
    assert sorted(named.values()) == sorted(kept) == ["/data", "/witness"]
    assert all(re.fullmatch("[a-z]+", name) for name in named)
    assert f"docker run {shown}" in (ROOT / "docs" / "service.md").read_text()


def test_the_proxy_takes_no_more_than_the_service_and_hangs_up_first() -> None:
    assert directive("client_max_body_size") == [f"{most // 2**20}m" for most in (BATCH, LONGEST_LIST)]
    ((buffers, size),) = (each.split() for each in directive("large_client_header_buffers"))
    assert int(buffers) * int(size.removesuffix("k")) * 1024 < HEAD
    assert int(size.removesuffix("k")) * 1024 <= URL
    seconds = [int(each.removesuffix("s")) for each in directive("keepalive_timeout")]
    assert len(seconds) == 2
    assert all(each < IDLE_TIME for each in seconds)
    assert [int(each.removesuffix("s")) for each in directive("client_header_timeout")] <= [HEAD_TIME]
    assert [int(each.removesuffix("s")) for each in directive("client_body_timeout")] <= [BODY_TIME]
    assert int(directive("proxy_read_timeout")[0].removesuffix("s")) > QUIET


def test_the_proxy_writes_nothing_down_and_believes_no_visitor() -> None:
    assert directive("access_log") == ["off"]
    assert [each.split()[1] for each in directive("error_log")] == ["crit"]
    assert directive("proxy_set_header X-Forwarded-For") == ["$remote_addr"]
    assert "proxy_add_x_forwarded_for" not in NGINX
    (written,) = re.findall(r"^# +maskedbandit (.*?) \.\.\.$", NGINX, re.MULTILINE)
    assert parser().parse_args(written.split()).proxy == [directive("server")[0].partition(":")[0]]
