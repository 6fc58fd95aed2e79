"""Hostile servers, fuzz targets and benchmarks of AMQP 0-9-1."""
