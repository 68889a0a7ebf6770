"""Tests: folders mirror the source; `dense` and `problems` are what they share."""
