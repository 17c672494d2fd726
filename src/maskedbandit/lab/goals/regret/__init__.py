"""Keep regret low while every user is served."""
