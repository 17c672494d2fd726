"""Write the site into a folder: `python -m tools.site build`. Any warning is an error.

Of the folder, `pages` has Markdown, `mkdocs.yml` is what the site is built by, `site` has a folder for each version.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tools.site.check import Built
from tools.site.checkout import ROOT, VERSION
from tools.site.llms import write_llms
from tools.site.nav import FILE, write_configuration
from tools.site.pages import Site
from tools.site.versions import write_versions

COLOUR = re.compile(r"\x1b\[[\d;]*m")


def main(folder: Path) -> None:
    """Write the pages, build the site from them, and check what was built."""
    site = Site(folder / "pages")
    site.write()
    nav = write_configuration(folder, site.nav)
    (site.folder / "llms.txt").write_text(write_llms(site.folder, nav))
    version = folder / "site" / VERSION
    shutil.rmtree(version, ignore_errors=True)  # with pages that are gone
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", str(folder / FILE)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if built.returncode:
        sys.exit(COLOUR.sub("", built.stdout).partition("Traceback")[0] or built.stderr)
    site.write_tutorials(version)
    write_versions(folder / "site")
    if faults := list(Built(folder / "site").faults()):
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
