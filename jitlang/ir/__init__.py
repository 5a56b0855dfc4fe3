"""The intermediate representation: typed SSA in nested blocks, with a source range on every node."""
