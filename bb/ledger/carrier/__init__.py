"""Carriers: the engines that order and carry lines between machines, all behind one door (`door.py`)."""
