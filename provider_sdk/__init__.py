"""For provider authors: the contract's words, a class to subclass, and what serves it; it never imports the daemon."""
