"""What a study or an experiment promises its people, to be read, checked and signed."""
