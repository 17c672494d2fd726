"""What the lab's rehearsals and a live service share: the driver of a study, and its cohorts from charge to release."""
