"""What the desk sells: each module one service, with its listing and how an order of it is worked."""
