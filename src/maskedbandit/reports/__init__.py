"""Reports on studies: what one would bring."""
