"""The LLVM engine, the object cache and the bridge to CPython; knows addresses and layouts, but no IR and no tensor."""
