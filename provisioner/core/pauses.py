"""How pauses grow from one try to the next; it must not know what is tried."""

DOUBLINGS_MOST = 30


def doubled_s(first_s: float, times: int, most_s: float) -> float:
    """`first_s` doubled so many times, never over `most_s`; any number of times may be asked for."""
    return min(first_s * float(2 ** min(times, DOUBLINGS_MOST)), most_s)
