"""`python -m autograder` is the same as `autograder`."""

from autograder.cli import main

if __name__ == "__main__":
    main()
