"""Numba loops over arrays; no policy."""
