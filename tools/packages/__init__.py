"""Wheel and source archive: built, looked through, installed where nothing else is."""
