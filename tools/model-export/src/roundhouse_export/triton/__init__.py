"""Models of a Triton repository: what ``config.pbtxt`` says, in the terms of a bundle."""
