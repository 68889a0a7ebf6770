"""Limits of memory: what they are written as, and what follows from them."""

from types import SimpleNamespace as Some

import numpy as np
import pytest

from qtkm.estimators.memory import Need, format_bytes, parse_limit


@pytest.mark.parametrize(
    ("text", "count"),
    [("1GB", 10**9), ("1.5 gb", 15 * 10**8), ("512MiB", 2**29), ("64k", 64_000), ("10 B", 10),
     (123, 123), (1e9, 10**9), (None, None)],
)  # fmt: skip
def test_limits_as_they_are_written(text, count):
    assert parse_limit(text) == count


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1 XB", "1GB 2", 0, -1, float("inf"), True, []])
def test_what_is_no_limit(text):
    with pytest.raises(ValueError, match="must be a number of bytes > 0"):
        parse_limit(text)


@pytest.mark.parametrize("count", [999, 1_000_001, 123_456_789, 9_876_543_210])
def test_texts_are_never_less(count):
    assert count <= parse_limit(format_bytes(count)) <= 1.02 * count + 1000


def make_need(n_rows, sums=400_000):
    target = Some(n_outputs=1, loss=Some(is_quadratic=True))
    coding = Some(
        scan=Some(n_rows=n_rows, target=target), code_type=np.dtype(np.uint16), is_weighted=False,
        columns=8 * [Some(radices=[5, 5], feature_map=Some(is_complex=True))], n_codes=8 * [1250],
    )  # fmt: skip
    return Need(coding, Some(numbers_held=lambda *_: (100_000, sums)))


def test_rows_stay_in_memory_while_they_fit():
    need = make_need(10**7)
    assert need.place(need.in_memory()) == (True, 1 << 20)
    assert need.place(need.in_memory() - 1) == (False, 1 << 20)


def test_shards_shrink_with_the_limit_and_what_they_take_does_not_grow_with_the_rows():
    small, large = make_need(10**7), make_need(10**10)
    rows = [small.place(limit)[1] for limit in (5 * 10**8, 3 * 10**8, 25 * 10**7)]
    assert rows == sorted(rows, reverse=True)
    assert rows[-1] < 1 << 20
    assert large.on_disk(1 << 20) < 1.2 * small.on_disk(1 << 20)


def test_too_small_a_limit_names_the_smallest_that_works():
    need = make_need(10**8, sums=50_000_000)
    with pytest.raises(MemoryError, match=r"smallest that works is '[0-9.]+ GB'") as caught:
        need.place(10**9)
    least = parse_limit(str(caught.value).split("'")[1])
    in_memory, rows = need.place(least)
    assert not in_memory
    assert need.on_disk(rows) <= least
