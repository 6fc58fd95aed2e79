"""The reference peer of the document `rabbitmq`: that of 0-9-1, with rows in front of its own.

A module for each area. A row in front takes what the peer of 0-9-1 would do otherwise, or not at all; where
no row of an area applies, everything is as in 0-9-1.
"""
