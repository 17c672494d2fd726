"""The versions of the site: a folder for each, a list that the chooser on every page reads, and a way to the newest."""

import json
import re
from pathlib import Path

START = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<link rel="icon" href="data:,">
<title>Masked Bandit</title>
<meta http-equiv="refresh" content="0; url={newest}/index.html">
<p>The newest version is <a href="{newest}/index.html">{newest}</a>.
"""
NOT_FOUND = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<link rel="icon" href="data:,">
<title>Masked Bandit: no such page</title>
<p>There is no such page. It may be one of another version: the first page of each is at the address that ends with the
number of the version.
"""


def list_versions(site: Path) -> list[str]:
    """Versions that have a folder, the newest first."""
    found = [path.parent.name for path in site.glob("*/index.html")]
    return sorted(found, key=lambda name: [int(part) for part in re.findall(r"\d+", name)], reverse=True)


def write_versions(site: Path) -> None:
    """Write the list and the way."""
    newest, *_ = versions = list_versions(site)
    listed = [{"version": name, "title": name, "aliases": ["latest"] if name == newest else []} for name in versions]
    (site / "versions.json").write_text(json.dumps(listed))
    (site / "index.html").write_text(START.format(newest=newest))
    (site / "404.html").write_text(NOT_FOUND)
    for version in versions:  # the theme's, which looks for everything at the root of its host
        (site / version / "404.html").unlink(missing_ok=True)
