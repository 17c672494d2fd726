"""`python -m maskedbandit` is `maskedbandit`."""

from maskedbandit.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
