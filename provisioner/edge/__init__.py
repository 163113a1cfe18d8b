"""Pure translation between the outside's words and our own; decides nothing and does no input or output."""
