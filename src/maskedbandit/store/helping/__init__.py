"""The helper's part of studies with two servers: reports that it is offered, and its totals."""
