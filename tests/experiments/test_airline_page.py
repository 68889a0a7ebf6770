"""The page of the airline experiment: its numbers and its verdict."""

import numpy as np
import pandas as pd
import pytest

from qtkm.experiments import airline as page


def records(model, errors, parameters=100, seconds=50.0):
    return pd.DataFrame(
        {"dataset": "nyc_flights", "model": model, "split": split, "train_rows": 200_000,
         "test_rows": 100_000, "cores": 2, "parameters": parameters, "epochs": 25,
         "seconds": seconds, "test_mse": error}
        for split, error in enumerate(errors)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ([0.01, 0.02, 0.03], "claim holds here"),
        ([-0.01, -0.02, -0.03], "does not hold here"),
        ([0.01, -0.01, 0.002], "cannot be told apart"),
    ],
)
def test_the_verdict_follows_from_the_differences_of_splits(gains, verdict):
    behind = np.array([0.7, 0.8, 0.9])
    models = {
        "TKM R=8": records("TKM R=8", behind, 4096),
        "QTKM R=40": records("QTKM R=40", behind - gains, 3840)[::-1],
    }
    said = page.describe_models("nyc_flights", models)
    error = np.std(gains, ddof=1) / np.sqrt(3)
    assert f"is {np.mean(gains):+.4f} ± {error:.4f}" in said
    assert "3,840 parameters against 4,096" in said
    assert verdict in said


def test_one_split_gives_no_standard_error():
    models = {name: records(name, [error]) for name, error in
              [("TKM R=8", 0.5), ("QTKM R=40", 0.6)]}  # fmt: skip
    said = page.describe_models("nyc_flights", models)
    assert "-0.1000: QTKM R=40 is not ahead in this one split" in said


def test_times_are_brought_to_an_epoch_of_a_million_rows():
    models = {"QTKM R=20": records("QTKM R=20", [0.5, 0.7])}
    text = page.describe_models("nyc_flights", models)
    row = next(line for line in text.splitlines() if "QTKM R=20" in line)
    # 50 s for 25 epochs of 200,000 rows; the paper: 6613 s for 25 epochs of 3,952,942
    entries = [entry.strip() for entry in row.split("|")[1:-1]]
    assert entries == ["QTKM R=20", "100", "0.6000 ± 0.1414", "2", "50", "10", "66.9"]


def test_the_paper_s_numbers_stand_beside_ours():
    results = {"nyc_flights": {"TKM R=4": records("TKM R=4", [0.61])}}
    here = page.errors_here(results)
    assert (here["TKM R=4"], here["SVIGP"]) == ("0.6100", "–")
