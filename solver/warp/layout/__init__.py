"""What follows from a kernel and its pins before any search: roles, loads that stay, channels between roles, orders, fences."""
