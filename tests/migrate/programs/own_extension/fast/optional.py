try:
    import fast_engine
except ImportError:
    fast_engine = None
