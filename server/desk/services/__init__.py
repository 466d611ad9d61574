"""The services of the desk: each module has one, with its listing and its work."""
