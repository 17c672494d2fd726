"""The lab: simulated instances, the engine, experiments and their tables and figures."""
