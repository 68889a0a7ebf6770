import numpy as np

from qtkm.features import Categorical


def test_features_are_one_hot():
    np.testing.assert_array_equal(Categorical(4).features(np.arange(4)), np.eye(4))


def test_a_weight_vector_is_looked_up_by_category():
    weights = np.array([3.0, 1.0, 4.0])
    codes = np.array([2, 0, 0, 1])
    np.testing.assert_array_equal(Categorical(3).features(codes) @ weights, weights[codes])
