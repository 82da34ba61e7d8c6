"""The build. What the package is called, needs and contains stands in setup.cfg."""

from setuptools import setup

setup()
