"""Serve the studies of a database over HTTP, with a page."""

from __future__ import annotations

import argparse
import re
import socket
from ipaddress import ip_network
from typing import TYPE_CHECKING

from maskedbandit.cli import study as studies
from maskedbandit.cli.parts.data_folder import make_data_folder
from maskedbandit.errors import InvalidValue

if TYPE_CHECKING:
    from maskedbandit.service.app import AnyHost

EXAMPLE = (
    "maskedbandit serve --demo\n"
    "  maskedbandit serve --database postgresql://host/name --port 8080\n"
    "  maskedbandit key new owner --database postgresql://host/name"
)
INTERRUPTED = ""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options: where studies are, and where to listen."""
    studies.place(parser)
    parser.add_argument(
        "--role",
        choices=("leader", "helper", "shuffler", "site"),
        default="leader",
        help="lead studies (leader), help another operator with studies of two operators (helper), mix what people's "
        "devices send (shuffler), or be a site that keeps the outcomes of its own people",
    )
    parser.add_argument(
        "--name",
        metavar="NAME",
        help="the name of the operator that people see, with `--role helper` or `--role shuffler`",
    )
    parser.add_argument("--demo", action="store_true", help="run a simulated study, in ./demo unless --data says where")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="the address on which to listen (127.0.0.1)"
    )
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="the port on which to listen (8000)")
    parser.add_argument(
        "--url", metavar="URL", help="how other processes that serve this database reach this one (http://HOST:PORT)"
    )
    parser.add_argument(
        "--metrics-port", type=int, metavar="N", help="serve metrics for Prometheus on this port (on none)"
    )
    parser.add_argument(
        "--proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="believe X-Forwarded-For and X-Forwarded-Proto of the proxy at this address; may be repeated",
    )
    parser.add_argument(
        "--rate", type=float, default=5000, metavar="N", help="how many requests a second each key may make (5000)"
    )


def network(text: str) -> str:
    """Read the address of a proxy, or of a network of proxies."""
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        raise InvalidValue("--proxy", text, "an address such as 10.0.0.7, or a network such as 10.0.0.0/24") from None


def do(options: argparse.Namespace) -> None:
    """Serve until the process is told to end."""
    from maskedbandit.service.server import bind_socket, serve_host
    from maskedbandit.study.operators import LONGEST_NAME

    if not 0 < options.rate < float("inf"):
        raise InvalidValue("--rate", options.rate, "a number of requests above 0")
    if options.url is not None and not re.fullmatch(r"https?://[!-~]+", options.url):
        raise InvalidValue("--url", options.url, "an address such as http://first:8000")
    if (options.role in ("helper", "shuffler")) != (options.name is not None):
        allowed = "the name of the operator, with `--role helper` or `--role shuffler` and not without it"
        raise InvalidValue("--name", options.name, allowed)
    if options.role != "leader" and options.demo:
        raise InvalidValue("--demo", "given", f"left out: a {options.role} runs no study of its own")
    if options.name is not None and not (1 <= len(options.name) <= LONGEST_NAME and options.name.isprintable()):
        raise InvalidValue("--name", options.name, f"1 to {LONGEST_NAME} printable characters")
    proxies = [network(each) for each in options.proxy]
    if options.demo and options.database == studies.DATABASE and options.witness is None:
        studies.Data([], "data")(None, options, "demo")
    make_data_folder(options)
    with bind_socket(options.host, options.port) as listener:
        companions = []
        if options.demo:
            from maskedbandit.cli.parts.demo import Demo

            demo = Demo(options.database, options.witness)
            demo.catch_up()
            companions.append(demo.people)
        host = make_host(options)
        everywhere = options.host in ("0.0.0.0", "::")
        name = socket.gethostname() if everywhere else f"[{options.host}]" if ":" in options.host else options.host
        url = f"http://{name}:{listener.getsockname()[1]}"
        host.url = options.url or url

        if options.metrics_port is not None:
            port = host.metrics.serve(options.host, options.metrics_port)

        def listening() -> None:
            for line in welcome(host, url):
                print(line, flush=True)
            if options.metrics_port is not None:
                print(f"metrics      http://{name}:{port}/metrics", flush=True)

        serve_host(host, listener, listening, companions, proxies)


def make_host(options: argparse.Namespace) -> AnyHost:
    """Make the host of a leader, of a helper, of a shuffler or of a site."""
    from maskedbandit.service.host.helper import HelperHost, ShufflerHost
    from maskedbandit.service.host.host import Host
    from maskedbandit.service.host.site import SiteHost

    if options.role in ("helper", "shuffler"):
        serving = HelperHost if options.role == "helper" else ShufflerHost
        return serving(options.database, options.witness, options.name, options.rate)
    if options.role == "site":
        return SiteHost(options.database, options.witness, options.rate)
    from maskedbandit.cli.parts.forecast import forecast_in_words
    from maskedbandit.cli.parts.own_process import Kept
    from maskedbandit.cli.parts.trust_plan import TrustPlan

    host = Host(options.database, options.witness, options.rate)
    host.forecast = forecast_in_words
    host.trust_plan, host.own_audit = TrustPlan(), Kept("maskedbandit.cli.parts.own_audit")
    return host


def welcome(host: AnyHost, url: str) -> list[str]:
    """Say where the server listens; if there are no keys, make the first ones and show them."""
    from maskedbandit.service import keys
    from maskedbandit.service.host.helper import HelperHost
    from maskedbandit.service.host.host import Host
    from maskedbandit.store.databases.connection import open_database

    lines = [f"{'helper' if isinstance(host, HelperHost) else 'page':12} {url}/"]
    if not isinstance(host, Host):
        lines.append(f"fingerprint  {host.own.fingerprint}")
    database = open_database(host.address)
    try:
        if keys.read_keys(database):
            return [*lines, "keys         as before; `maskedbandit key new ROLE` makes another"]
        roles = {"helper": (keys.OFFICER,), "shuffler": (keys.OFFICER,), "site": (keys.OFFICER, keys.CLIENT)}.get(
            host.role, keys.SECRET_ROLES
        )
        made = {role: keys.write_key(database, role, None, host.clock()) for role in roles}
        host.keys.read(database)
    finally:
        database.close()
    lines += [f"{role:7} key  {text}" for role, text in made.items()]
    next_steps = dict.fromkeys(("helper", "shuffler"), "invite       a leader, by `maskedbandit helper invite`")
    next_steps["site"] = "join         a coordinator, by `maskedbandit site join`"
    lines += [next_steps[host.role]] if host.role in next_steps else []
    if not isinstance(host, HelperHost):
        lines.append(f"sign in      {url}/sign-in#{made.get('owner') or made['officer']}")
    return [*lines, "keys are shown this once: keep them"]
