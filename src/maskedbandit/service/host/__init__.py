"""What a server process hosts: its studies, its clock, and what it says of itself."""
