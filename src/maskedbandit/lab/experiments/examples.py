"""The experiments and studies that come with the package: in its folder where it is installed, at the root of a
checkout.
"""

import tomllib
from pathlib import Path

import maskedbandit
from maskedbandit.errors import InvalidValue, UnknownName

STUDIES = "studies"  # the folder, of the experiments', in which protocols of studies are


def find_packaged_folder() -> Path:
    """The folder of the experiments and studies.

    >>> (find_packaged_folder() / "quickstart.toml").exists()
    True
    """
    package = Path(maskedbandit.__file__).parent
    installed = package / "experiments"
    return installed if installed.is_dir() else package.parents[1] / "experiments"


def find_experiment(given: str, kind: str = "experiment", below: str = "") -> Path:
    """The file of an experiment, or of another kind from a folder below, that is given by its path or by its name.

    >>> find_experiment("quickstart") == find_packaged_folder() / "quickstart.toml"
    True

    A folder of that name, such as one in which a demo keeps its study, is not meant.
    """
    path = Path(given)
    if path.suffix or len(path.parts) > 1 or path.is_file():
        return path
    names = {each.stem: each for each in (find_packaged_folder() / below).glob("*.toml")}
    if given not in names:
        raise UnknownName(kind, given, names)
    return names[given]


def describe_file(path: Path) -> str:
    """What a file says of itself, which needs nothing of what it names.

    >>> describe_file(find_experiment("newsletter", "study", STUDIES))
    'which of three subject lines is opened most often'
    """
    try:
        found = tomllib.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as wrong:
        raise InvalidValue("file", str(path), f"a TOML file that can be read ({wrong})") from None
    about, source = (str(found.get(key, "")) for key in ("about", "source"))
    return f"{about} {source if source.startswith('[') else f'({source})'}" if source else about
