"""Paint video in real time, on an ordinary CPU."""
