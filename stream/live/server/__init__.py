"""The browser page: a camera goes in by WebRTC, the painted video comes back."""
