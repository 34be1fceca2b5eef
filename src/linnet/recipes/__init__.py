"""Recipes: what they hold, the components they name, the knowledge bases and search spaces they ask for."""
