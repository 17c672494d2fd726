"""`make golden`: write the golden trajectories of all policies. Read the diff before it is committed."""

from tests.golden import write

if __name__ == "__main__":
    write()
