"""The API server's own figures about webhooks and policies."""

from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families


class Histogram:
    """Cumulative buckets by upper bound."""

    def __init__(self, buckets: Mapping[float, float]) -> None:
        self._buckets = dict(sorted(buckets.items()))

    @property
    def count(self) -> int:
        return int(max(self._buckets.values(), default=0))

    def since(self, before: "Histogram") -> "Histogram":
        return Histogram({bound: value - before._buckets.get(bound, 0) for bound, value in self._buckets.items()})

    def quantile(self, share: float) -> float:
        """As PromQL's histogram_quantile, in seconds."""
        wanted, below, seen = share * self.count, 0.0, 0.0
        for bound, value in self._buckets.items():
            if value >= wanted and value > seen:
                return below if bound == float("inf") else below + (bound - below) * (wanted - seen) / (value - seen)
            below, seen = bound, value
        return below


def samples(cluster, metric, labels):
    """Values of one metric whose labels include these, with all their labels."""
    text = cluster.kubectl("get", "--raw", "/metrics")
    lines = "\n".join(line for line in text.splitlines() if line.startswith((f"{metric}{{", f"{metric} ")))
    found = [sample for family in text_string_to_metric_families(lines + "\n") for sample in family.samples]
    return [(each.labels, each.value) for each in found if labels.items() <= each.labels.items()]


def total(cluster, metric, **labels):
    """The sum over them."""
    return int(sum(value for _, value in samples(cluster, metric, labels)))


def histogram(cluster, metric, **labels):
    """The buckets summed over all other labels."""
    buckets: dict[float, float] = {}
    for found, value in samples(cluster, f"{metric}_bucket", labels):
        bound = float(found["le"])
        buckets[bound] = buckets.get(bound, 0) + value
    return Histogram(buckets)
