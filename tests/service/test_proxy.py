"""The example of a proxy, by the real one: Debian's nginx, with TLS, before a service that runs."""

import shutil
import signal
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from http.cookies import SimpleCookie
from pathlib import Path
from re import search
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from msgspec.json import decode, encode

from maskedbandit.service.helping.totals import LONGEST_LIST
from maskedbandit.service.request.limits import BATCH
from tests.service.browser import chromium
from tests.service.inside import TABLE
from tests.service.live import LATE, Live, live, own_port

pytestmark = pytest.mark.slow
CONFIG = Path(__file__).parents[2] / "deploy" / "nginx.conf"
ROOM = {"people": 10**6, "policy": {"name": "successive_elimination", "least": 10**5}}  # for everybody
ASSIGN = "/v1/studies/small/assign"
TOTAL = "/v1/helping/small/cohorts/3/total"


class Proxy(NamedTuple):
    """A proxy, and the service behind it."""

    server: Live
    port: int
    plain: int  # without TLS
    context: ssl.SSLContext

    def connection(self) -> HTTPSConnection:
        """A client that trusts the certificate."""
        return HTTPSConnection("localhost", self.port, timeout=LATE, context=self.context)

    def ask(
        self, method: str, path: str, body: Any = None, key: str | None = None, **headers: str
    ) -> tuple[HTTPResponse, bytes]:
        """The answer to a request, and its body."""
        if key is not None:
            headers["Authorization"] = f"Bearer {self.server.keys.get(key, key)}"
        raw = body if isinstance(body, bytes | None) else encode(body)
        with closing(self.connection()) as made:
            made.request(method, path, raw, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = made.getresponse()
            return answer, answer.read()

    def done(self, verb: str, body: Any) -> Any:
        """What an application is answered."""
        answer, said = self.ask("POST", f"/v1/studies/small/{verb}", body, "client")
        assert answer.status == 200, said
        return decode(said)


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine that nobody signed, and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, private = folder / "bandit.pem", folder / "bandit.key"
    pem.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    shape = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    private.write_bytes(key.private_bytes(*shape))
    return pem, private


def configured(folder: Path, places: dict[str, str]) -> Path:
    """The example with other places, none of which it may lack, and with its files in a folder."""
    text = CONFIG.read_text()
    for said, here in places.items():
        assert said in text, f"the example no longer says {said!r}"
        text = text.replace(said, here)
    for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"):
        text = text.replace("http {\n", f"http {{\n  {each}_temp_path {folder}/{each};\n")
    made = folder / "nginx.conf"
    made.write_text(text)
    return made


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """The example before a service."""
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    assert nginx, "nginx is missing: `make slow` installs it as root on Debian, with apt-get install nginx-light"
    folder = tmp_path_factory.mktemp("proxy")
    pem, key = certificate(folder)
    port, plain = own_port(), own_port()
    with live(folder / "service", more=("--proxy", "127.0.0.1")) as server:
        places = {
            "/run/nginx.pid": f"{folder}/nginx.pid",
            "/var/log/nginx/error.log": f"{folder}/error.log",
            "/etc/ssl/bandit.pem": str(pem),
            "/etc/ssl/private/bandit.key": str(key),
            "listen 443": f"listen 127.0.0.1:{port}",
            "listen 80": f"listen 127.0.0.1:{plain}",
            "server 127.0.0.1:8000": f"server 127.0.0.1:{server.port}",
            "bandit.example": "localhost",
        }
        command = [nginx, "-p", str(folder), "-e", f"{folder}/error.log", "-c", str(configured(folder, places))]
        checked = subprocess.run([*command, "-t"], capture_output=True, text=True, timeout=LATE)
        assert (checked.returncode, "[warn]" in checked.stderr) == (0, False), checked.stderr
        with subprocess.Popen([*command, "-g", "daemon off;"]) as process:
            try:
                begun(process, port)
                server.start_study(TABLE | ROOM)
                yield Proxy(server, port, plain, ssl.create_default_context(cafile=str(pem)))
            finally:
                process.send_signal(signal.SIGTERM)
        assert (folder / "error.log").read_text() == ""


def begun(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until it listens."""
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), LATE).close()
            return
        except ConnectionRefusedError:
            continue
    raise AssertionError("nginx ended")


def test_people_take_part_through_it(proxy: Proxy) -> None:
    ticket = proxy.done("assign", {"unit": "ann"})["ticket"]
    assert proxy.done("expose", {"ticket": ticket}) == {"status": "exposed"}
    assert proxy.done("report", {"ticket": ticket, "value": 1})["status"] == "accepted"
    batch = {"requests": [{"unit": f"person {i}", "token": "x" * 200} for i in range(1000)]}
    assert len(encode(batch)) > 200_000
    assert len(proxy.done("assign/batch", batch)["items"]) == 1000


def test_many_requests_go_over_one_connection(proxy: Proxy) -> None:
    with closing(proxy.connection()) as made:
        for i in range(50):
            made.request("GET", "/healthz")
            answer = made.getresponse()
            assert (answer.status, decode(answer.read())["status"]) == (200, "alive"), i
            assert answer.headers["strict-transport-security"].startswith("max-age=")


def test_events_come_when_they_happen(proxy: Proxy) -> None:
    key = {"Authorization": f"Bearer {proxy.server.keys['officer']}"}
    with closing(proxy.connection()) as made:
        made.request("GET", "/v1/studies/small/events", headers=key)
        stream = made.getresponse()
        assert stream.status == 200
        assert b": the ledger" in stream.readline()
        while stream.readline() != b"event: changed\n":
            pass
        proxy.done("assign", {"unit": "somebody new"})  # which nothing but the stream's own second waits for
        while stream.readline() != b"event: changed\n":
            pass


def test_somebody_signs_in(proxy: Proxy) -> None:
    page, text = proxy.ask("GET", "/sign-in")
    before = SimpleCookie(page.headers["set-cookie"])
    (cookie,) = before.values()
    token = search(rb'name="csrf" value="([0-9a-f]+)"', text)
    assert token
    form = urlencode({"csrf": token[1].decode(), "key": proxy.server.keys["owner"]}).encode()
    given = {"Content_Type": "application/x-www-form-urlencoded", "Cookie": f"{cookie.key}={cookie.value}"}
    for origin, status in ((f"https://localhost:{proxy.port}", 303), ("null", 403), ("https://evil.example", 403)):
        answer, said = proxy.ask("POST", "/sign-in", form, None, **given, Origin=origin)
        assert answer.status == status, said
        assert status != 303 or "secure" in answer.headers["set-cookie"].lower()


def test_a_browser_signs_in_sees_what_changes_and_signs_out(proxy: Proxy) -> None:
    """With HTTP/2, in which it sends each cookie by itself."""
    home = f"https://localhost:{proxy.port}"
    with chromium() as browser:
        page = browser.new_page(ignore_https_errors=True)
        page.set_default_timeout(1000 * LATE)
        page.goto(f"{home}/sign-in#{proxy.server.keys['officer']}")
        page.wait_for_url(f"{home}/")
        spoken = "performance.getEntriesByType('navigation')[0].nextHopProtocol"
        page.goto(f"{home}/studies/small")
        assert page.evaluate(spoken) == "h2"
        before = page.inner_text("#part-people")
        proxy.done("assign", {"unit": "somebody else"})
        page.wait_for_function("before => document.querySelector('#part-people').innerText !== before", arg=before)
        kept = page.context.cookies()
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(f"{home}/sign-in")
        page.context.add_cookies(kept)  # a copy that somebody has
        page.goto(f"{home}/studies/small")
        assert page.url == f"{home}/sign-in"


OVER = {
    "a head": ("GET", "/healthz", None, {f"X-{i}": "v" * 7000 for i in range(5)}, 400),
    "a header": ("GET", "/healthz", None, {"X": "v" * 9000}, 400),
    "a URL": ("GET", "/" + "u" * 9000, None, {}, 414),
    "a body": ("POST", ASSIGN, b" " * (BATCH + 1), {}, 413),
    "a list": ("POST", TOTAL, b" " * (LONGEST_LIST + 1), {}, 413),
}


@pytest.mark.parametrize("case", OVER)
def test_what_is_too_large_does_not_reach_the_service(proxy: Proxy, case: str) -> None:
    method, path, body, headers, status = OVER[case]
    answer, said = proxy.ask(method, path, body, "client", **headers)
    assert (answer.status, answer.headers["content-type"], b"nginx" in said) == (status, "text/html", True)


def test_a_list_that_a_helper_takes_reaches_it(proxy: Proxy) -> None:
    """Which here is a leader, that knows no such address."""
    answer, said = proxy.ask("POST", TOTAL, b" " * LONGEST_LIST, "client")
    assert (answer.status, b"nginx" in said) == (404, False)


def test_what_a_visitor_says_of_an_address_is_not_believed(proxy: Proxy) -> None:
    """Whoever tries keys is limited by the own address: twenty at once, and five a second."""
    asked = (
        proxy.ask("GET", "/v1/studies", None, "mb_client_0_x", X_Forwarded_For=f"10.0.0.{i}")[0].status
        for i in range(200)
    )
    assert {401, 429} == set(asked)
    assert proxy.server.ask("GET", "/v1/studies", key="mb_client_0_x", **{"X-Forwarded-For": "10.9.9.9"}).status == 401


def test_metrics_and_other_names_are_not_reached(proxy: Proxy) -> None:
    assert proxy.ask("GET", "/metrics")[0].status == 404
    blind = ssl.create_default_context()
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", proxy.port), LATE) as raw, pytest.raises(ssl.SSLError):
        blind.wrap_socket(raw, server_hostname="other.example")


def test_it_speaks_http_2_and_nothing_without_tls(proxy: Proxy) -> None:
    proxy.context.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection(("127.0.0.1", proxy.port), LATE) as raw,
        proxy.context.wrap_socket(raw, server_hostname="localhost") as made,
    ):
        assert made.selected_alpn_protocol() == "h2"
    proxy.context.set_alpn_protocols(["http/1.1"])
    with closing(HTTPConnection("127.0.0.1", proxy.plain, timeout=LATE)) as plain:
        plain.request("GET", "/sign-in?x", headers={"Host": "evil.example"})
        answer = plain.getresponse()
        assert (answer.status, answer.headers["location"]) == (301, "https://localhost/sign-in?x")
