"""OBS and ModelArts: storage, jobs, and a stand-in for both on this machine."""
