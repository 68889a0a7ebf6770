"""BLAS on one thread, as the estimators hold it: the problems are small and many."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread():
    with threadpool_limits(1, user_api="blas"):
        yield
