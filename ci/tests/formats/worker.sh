#!/bin/sh
# A worker that describes itself and finds nothing wrong with any case.
case $1 in
--describe) cat description.json ;;
--check) while read -r name; do printf '{"case": "%s", "error": null}\n' "$name"; done ;;
esac
