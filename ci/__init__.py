"""What others copy into their CI: target descriptions, baselines, claims."""
