"""``python -m qtkm`` is the command ``qtkm``."""

from .cli import main

if __name__ == "__main__":
    main()
