"""What happens between frames: shots and smoothing."""
