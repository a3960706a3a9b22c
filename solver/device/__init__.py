"""What a device can hold and what an operation costs on it; used by the rules and by the forecast."""
