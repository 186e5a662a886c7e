"""The stand-in for OBS and ModelArts on this machine: loopback only, with generated keys."""
