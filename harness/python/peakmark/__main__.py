"""`python -m peakmark …` is the command `peakmark …`."""

from peakmark.installed_programs import peakmark

if __name__ == "__main__":
    peakmark()
