"""Whether a functor can be sent: its accuracy, its registered form, its text, other torch releases."""
