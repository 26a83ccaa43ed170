package cli

// This file holds ls: the rows of the newest generation, newest session first.
