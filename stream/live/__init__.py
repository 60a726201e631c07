"""Live: pictures painted while they are fresh, judged by their age when shown."""
