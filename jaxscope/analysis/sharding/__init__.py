"""The collectives of a program on several devices: device groups, bytes, and their origins."""
