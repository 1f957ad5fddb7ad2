"""Environments for reinforcement learning: tasks, their episodes in batches, and Gymnasium's classes around them."""
