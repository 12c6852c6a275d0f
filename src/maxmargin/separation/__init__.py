"""Whether a hyperplane separates two classes, and a direction that shows it."""
