"""Where the time goes: profiles of NPUs read, advice ranked by the time it saves, and modelled profiles without one."""
