"""What Sfumato costs, measured: nothing here is part of the package."""
