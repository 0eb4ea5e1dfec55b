"""What clients do to a worker, or to a gateway before two, that nobody may be ended or slowed by."""
