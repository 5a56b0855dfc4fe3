if __name__ != "jitlang.tensor":
    raise ImportError("import this package as jitlang.tensor, not as tensor")
