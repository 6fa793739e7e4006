"""What callers want of the agents that a framework has made."""

COLOURS = ["Red", "Blue"]
WEIGHT = {
    "type": "object",
    "properties": {"kilograms": {"type": "number"}},
    "required": ["kilograms"],
}
WRONG, RIGHT = {"kilograms": "two"}, {"kilograms": 2}
