"""Policies that choose an arm by what is known of the user: of the context."""
