#!/bin/sh
# The same estimator in another language: reads one JSON question per line and writes one answer per line. The memory is that of
# n images and their mean, in floats.
while read -r question; do
  numbers() { printf '%s' "$question" | tr -d ' ' | sed -n "s/.*\"$1\":$2.*/\1/p"; }
  ny=$(numbers other_dimensions '\[\([0-9]*\),[0-9]*\]')
  nx=$(numbers other_dimensions '\[[0-9]*,\([0-9]*\)\]')
  available=$(numbers available_bytes '\([0-9]*\)')
  slices=$(numbers slices '\([0-9]*\)')
  image=$((4 * ny * nx))
  bytes=null fitting=null
  [ -z "$slices" ] || bytes=$((image * (slices + 1)))
  [ -z "$available" ] || fitting=$((available < image ? 0 : available / image - 1))
  printf '{"slices": %s, "bytes": %s, "dtype": "float32"}\n' "$fitting" "$bytes"
done
