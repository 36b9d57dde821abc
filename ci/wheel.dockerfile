# The image in which cibuildwheel builds the wheel ([tool.cibuildwheel] in pyproject.toml): Debian 12 with the build packages, and
# Python in the folder where cibuildwheel expects it.
#   docker build -t peakmark-wheel -f ci/wheel.dockerfile ci
FROM debian:12
COPY packages-build.txt requirements-wheel.txt /opt/
RUN apt-get update -qq && \
    apt-get install -y -qq --no-install-recommends $(sed 's/#.*//' /opt/packages-build.txt | xargs) && \
    python3 -m venv /opt/python/cp311-cp311 && \
    /opt/python/cp311-cp311/bin/pip install -q build virtualenv -r /opt/requirements-wheel.txt && \
    ln -s cp311-cp311 /opt/python/cp39-cp39  # cibuildwheel runs its own scripts with this one
