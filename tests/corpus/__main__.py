"""`python -m tests.corpus`: print how well screening separates attacks from ordinary texts in each half; no text."""

from tests.corpus import HALVES, money, report


def main() -> None:
    for half in HALVES:
        print("\n".join(report(half)))
    for name in money.FILES:
        print("\n".join(money.report(name)))


if __name__ == "__main__":
    main()
