def _has_ops():
    return False


def _assert_has_ops():
    raise RuntimeError("Couldn't load custom C++ ops")
