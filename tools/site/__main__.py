"""Write the site into build/site: `python -m tools.site`; any warning is an error."""

import re
import subprocess
import sys

from tools.site.check import Built
from tools.site.checkout import BUILD, PAGES, ROOT, SITE
from tools.site.llms import write_llms
from tools.site.nav import FILE, write_configuration
from tools.site.pages import Site
from tools.site.versions import write_versions

COLOUR = re.compile(r"\x1b\[[\d;]*m")


def main() -> None:
    """Write the pages, and build the site from them."""
    site = Site()
    site.write()
    (PAGES / "llms.txt").write_text(write_llms(write_configuration(site.nav)))
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", str(BUILD / FILE)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if built.returncode:
        sys.exit(COLOUR.sub("", built.stdout).partition("Traceback")[0] or built.stderr)
    write_versions(SITE)
    if faults := list(Built(SITE).faults()):
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
