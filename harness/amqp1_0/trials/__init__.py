"""Hostile servers, fuzz targets and benchmarks of AMQP 1.0."""
