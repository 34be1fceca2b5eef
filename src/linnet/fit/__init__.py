"""Training of whole pipelines: the plan, checks beforehand, cross-fitting, what is stored, tuning, experiments."""
