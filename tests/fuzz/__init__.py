"""Fuzz targets: plain functions of bytes, played by pytest (kept corpus, hypothesis) and by atheris."""
