"""Fitted estimators as functions of JAX, one module for each family.

Nothing here imports scikit-learn, XGBoost or LightGBM: a fitted estimator is read by its
attributes, and what it learnt keeps its name among the weights.
"""
