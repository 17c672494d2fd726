"""What the lab's rehearsals and a live service both drive: the cohorts of a study."""
