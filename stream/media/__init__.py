"""Everything that touches containers and codecs."""
