"""``python -m agentpost``."""

from agentpost.cli import main

if __name__ == "__main__":
    main()
