"""Watches a program run and writes a profile folder with modelled device times; imports torch."""
