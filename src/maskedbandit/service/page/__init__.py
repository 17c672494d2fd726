"""The page: what a person sees of the studies in a browser, drawn on the server."""
