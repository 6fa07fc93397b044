"""Runnable examples: each is a script, and a test."""
