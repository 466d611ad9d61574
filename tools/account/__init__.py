"""An agent's whole account: deletion and export. Both touch every noun."""
