"""`make golden`: write the golden trajectories, the vectors and the type stubs. Read the diff before you commit it."""

from tests.golden import write
from tests.golden.vectors import write_vectors
from tools import stubs

if __name__ == "__main__":
    write()
    write_vectors()
    stubs.write()
