"""The labs: one question of a chapter each, with numbers that a reader changes."""

from .form import LABS, Lab, lab, lab_script

__all__ = ["LABS", "Lab", "lab", "lab_script"]
