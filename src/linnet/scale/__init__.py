"""Many documents: jobs that resume after an interruption."""
