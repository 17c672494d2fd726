"""Compile ahead what studies need, so that the first ones do not wait for it."""

import argparse

from maskedbandit.cli.parts.progress import Progress

EXAMPLE = (
    "maskedbandit warm\n"
    "  maskedbandit warm dpse dp_imed quickstart\n"
    "  MASKEDBANDIT_CACHE=/kernels maskedbandit warm --any-processor experiment.toml   # in an image"
)
INTERRUPTED = ": what was compiled is kept"


def add(parser: argparse.ArgumentParser) -> None:
    """What is compiled, and for which machines."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="a policy, for every channel that suits it, on arms whose rewards are bits; or, if there is none of this "
        "name, an experiment; or its TOML file (the policy of the lab's first study, and those of live studies)",
    )
    parser.add_argument(
        "--any-processor",
        action="store_true",
        help="compile for any processor like this one, such as any x86-64: for images and clusters",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def do(options: argparse.Namespace) -> None:
    """Compile, and say what for, how long it took and what it takes on the disk."""
    import time

    from maskedbandit.lab.engine.kernel_folder import find_kernel_folder
    from maskedbandit.lab.experiments.compile_ahead import (
        MadeCode,
        compile_ahead,
        list_common_policies,
        list_settings_ahead,
    )

    start, made = time.monotonic(), list[MadeCode]()
    wanted = [each for name in options.names or list_common_policies() for each in list_settings_ahead(name)]
    with Progress(len(wanted), "study", quiet=options.quiet) as progress:

        def tell(each: MadeCode) -> None:
            made.append(each)
            if each.size:
                progress.begin(each.label)
            progress.advance()

        compile_ahead(wanted, options.any_processor, tell)
    for each in made:
        if each.size:
            print(f"{each.label:50}{each.seconds:7.1f} s {each.size / 2**20:7.1f} MiB")
    there = sum(not each.size for each in made)
    size, seconds = sum(each.size for each in made) / 2**20, time.monotonic() - start
    print(f"compiled {len(made) - there} kinds of studies, and {there} were there; {size:.1f} MiB in {seconds:.0f} s")
    print(f"they are in {find_kernel_folder()}")
