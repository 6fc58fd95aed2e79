"""What is judged: targets at a URL, embedded, as processes; how they are described, started and removed."""
