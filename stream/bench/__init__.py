"""How fast this machine paints under a memory limit: whole jobs, each in a process of its own."""
