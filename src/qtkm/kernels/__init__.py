"""The few compiled loops on which everything else stands."""
