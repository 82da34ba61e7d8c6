"""Views and writes: whose memory a tensor shares, and how its history follows."""
