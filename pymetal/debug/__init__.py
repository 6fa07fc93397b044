"""What a user asks when a result is wrong: the plan of a call, where a NaN is born, the text of each stage."""
