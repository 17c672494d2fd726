"""The receivers of docs/webhooks.md, as they stand there: they take what the service sends, and nothing else."""

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.document_code import FENCED
from tests.service.inside import Inside
from tests.service.live import LATE, ROOT, own_port
from tests.service.test_webhooks import go, make_webhook, show_webhook

pytestmark = pytest.mark.slow
COMMANDS = {"python": (sys.executable, "receiver.py"), "js": ("node", "receiver.mjs")}


@pytest.mark.parametrize("language", COMMANDS)
def test_a_receiver_takes_what_is_signed(service: Inside, tmp_path: Path, language: str) -> None:
    (text,) = [code for kind, code in FENCED.findall((ROOT / "docs" / "webhooks.md").read_text()) if kind == language]
    command = COMMANDS[language]
    (tmp_path / command[1]).write_text(text)
    port = own_port()
    url = f"http://127.0.0.1:{port}/hook"
    made = make_webhook(service, url)
    given = os.environ | {"WEBHOOK_SECRET": made["secret"], "PORT": str(port)}
    with subprocess.Popen(command, cwd=tmp_path, env=given, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "listens\n"
            forged = {"webhook-id": "msg_x", "webhook-timestamp": "0", "webhook-signature": "v1,AAAA v1, x"}
            for headers in (forged, {}):
                found = httpx.post(url, content=b'{"type": "study.forged"}', headers=headers, timeout=LATE)
                assert found.status_code == 401
            service.begin()
            go(service)
            assert show_webhook(service)["error"] == "it answers 401", "what is old may be a copy"
            service.clock.now = int(1000 * time.time())
            go(service)
            assert process.stdout.readline().split()[1] == "study.started"
            assert show_webhook(service)["waiting"] == 0
        finally:
            process.kill()
