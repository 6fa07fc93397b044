"""How far a result is from the right one: units in the last place, inputs that show errors, exact references."""
