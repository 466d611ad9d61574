"""The faucet of test USDC."""
