if __name__ != "jitlang.interpreter":
    raise ImportError("import this package as jitlang.interpreter, not as interpreter")
