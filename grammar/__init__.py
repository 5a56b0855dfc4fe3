if __name__ != "jitlang.grammar":
    raise ImportError("import this package as jitlang.grammar, not as grammar")
