"""A node under mixed traffic and a seeded plan of faults, and a check of everything that its clients saw."""
