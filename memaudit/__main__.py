"""`python -m memaudit`."""

from memaudit.cli import main

if __name__ == "__main__":
    main()
