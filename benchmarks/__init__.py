"""Speed, memory and accuracy studies of qtkm, run from the root of the repository.

``python -m benchmarks.run`` measures speed and memory against two yardsticks written here:
the paper's algorithm in plain NumPy, and the machine's own matrix-product rate.
``python -m benchmarks.defaults`` compares settings of the estimator on real data.
"""
