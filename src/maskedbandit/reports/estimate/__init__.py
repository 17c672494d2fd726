"""What the releases of a study say of its arms."""
