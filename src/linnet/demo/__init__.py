"""Twelve short fictional clinical notes, in the folder ``notes``, to try Linnet on."""
