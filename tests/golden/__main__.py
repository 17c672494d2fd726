"""`make golden`: write the golden trajectories and the type stubs. Read the diff before you commit it."""

from tests.golden import write
from tools import stubs

if __name__ == "__main__":
    write()
    stubs.write()
