"""Recipes that train the shipped styles and a user's own."""
