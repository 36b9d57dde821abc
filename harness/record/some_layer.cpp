// For tests: opened like a layer of OpenCL.
extern "C" __attribute__((visibility("default"))) int clInitLayer() {
  return 0;
}
