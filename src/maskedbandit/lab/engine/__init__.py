"""The engine: kernels become compiled loops, which drive policies over channels, worlds and delays."""
