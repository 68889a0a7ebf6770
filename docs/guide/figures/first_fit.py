"""What the first fit of the page "Start here" has learned."""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from qtkm import QTKMRegressor
from qtkm.datasets import load_concrete
from qtkm.inspection import ImportancesDisplay, MainEffectDisplay, ResidualsDisplay

X, y = load_concrete(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = QTKMRegressor(random_state=0).fit(X_train, y_train)

figure, axes = plt.subplots(1, 3, figsize=(12, 3.6))
ResidualsDisplay.from_estimator(model, X_test, y_test, ax=axes[0])
ImportancesDisplay.from_estimator(model, X_train, ax=axes[1])
MainEffectDisplay.from_estimator(model, X_train, "age", ax=axes[2])
