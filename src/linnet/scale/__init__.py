"""Many documents: jobs that go on after an interruption."""
