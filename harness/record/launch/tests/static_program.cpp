// A test program that is linked without a dynamic loader.
int main() {
  return 0;
}
