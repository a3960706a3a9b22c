"""What a device can hold and what an operation costs on it: read by rules and by the forecast alike."""
