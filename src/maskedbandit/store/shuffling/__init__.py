"""The shuffler's part of studies that others lead: bundles of devices, and what was mixed of each cohort."""
