"""What stands on top of the four floors."""
