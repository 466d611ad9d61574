"""A multinomial naive Bayes classifier of short texts, with each feature of a text counted once.

Source: Manning, Raghavan, Schuetze: Introduction to Information Retrieval (2008), sections 13.2 and 13.3.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from math import fsum, log, sqrt

SMOOTHING = 0.01  # added to each count; far below 1, because most features occur in few classes


class NaiveBayes:
    """A classifier that learns from pairs of a text's features and its class.

    It takes all classes as equally likely.
    """

    def __init__(self, learned: Iterable[tuple[Collection[str], str]]) -> None:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        totals: Counter[str] = Counter()
        for features, name in learned:
            totals[name] += len(features)
            for feature in features:
                counts[feature][name] += 1
        self._gains = {
            feature: {name: log(count / SMOOTHING + 1) for name, count in row.items()}
            for feature, row in counts.items()
        }
        self._unseen = {name: log(total / SMOOTHING + len(counts)) for name, total in totals.items()}

    def share_known(self, features: Collection[str]) -> float:
        """Return the share of these features that occur in a learned text, from 0 to 1."""
        return sum(feature in self._gains for feature in features) / max(len(features), 1)

    def log_likelihoods(self, features: Collection[str]) -> Mapping[str, float]:
        """Return for each class the log likelihood of a text.

        It is divided by the root of the number of known features, so that long texts do not outweigh other scores.
        """
        known = sorted(feature for feature in features if feature in self._gains)  # sums are the same in each process
        root = sqrt(len(known)) or 1.0
        return {
            name: (fsum(self._gains[feature].get(name, 0.0) for feature in known) - len(known) * unseen) / root
            for name, unseen in self._unseen.items()
        }
