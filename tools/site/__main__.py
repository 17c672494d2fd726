"""Write the site: `python -m tools.site`."""

import shutil
import subprocess
import sys

from tools.site.checkout import BUILD, ROOT
from tools.site.pages import write_pages


def main() -> None:
    """Write the pages, and build the site from them."""
    write_pages()
    shutil.copyfile(ROOT / "mkdocs.yml", BUILD / "mkdocs.yml")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    subprocess.run([*command, "--config-file", str(BUILD / "mkdocs.yml")], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
