"""The TypeScript package of this checkout, built once however many processes test with it."""

import fcntl
import shutil
import subprocess

from tests.service.live import LATE, ROOT

SDK = ROOT / "sdk" / "typescript"


def build_package() -> None:
    """Make `dist` of what is in `src`, unless it is newer; and have the packages that it needs."""
    npm = shutil.which("npm")
    assert npm, "npm is missing: `make slow` installs it as root on Debian, with apt-get install nodejs npm"
    dist = SDK / "dist"
    dist.mkdir(exist_ok=True)
    with (dist / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted, there = SDK / "package-lock.json", SDK / "node_modules" / ".package-lock.json"  # the second by npm
        if not there.exists() or there.stat().st_mtime < wanted.stat().st_mtime:
            subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=SDK, check=True, timeout=LATE)
        newest = max(path.stat().st_mtime for path in [*SDK.glob("*.json"), *(SDK / "src").rglob("*.ts")])
        built = dist / "built"
        if not built.exists() or built.stat().st_mtime < newest:
            built.unlink(missing_ok=True)
            subprocess.run([npm, "run", "--silent", "build"], cwd=SDK, check=True, timeout=LATE)
            built.touch()
