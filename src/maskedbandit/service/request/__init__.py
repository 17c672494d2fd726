"""A request on its way: connections, limits, sessions, bodies, routes and problems."""
