"""`python -m tests.corpus`: how well screening tells attacks from ordinary texts, half by half; no text is printed."""

from tests.corpus import HALVES, report


def main() -> None:
    for half in HALVES:
        print("\n".join(report(half)))


if __name__ == "__main__":
    main()
