"""Rules for old MindSpore code: what 2021 wrote and what today's versions take."""
