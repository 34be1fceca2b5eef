"""``python -m linnet`` is the command line."""

from linnet.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
