// Loads a kernel that `warpwright build` made. The shared object needs the NVIDIA driver and nothing else of CUDA.
#include <dlfcn.h>

#include <cstdio>

int main() {
  void *library = dlopen(KERNEL_PATH, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "cannot load %s: %s\n", KERNEL_PATH, dlerror());
    return 1;
  }
  // init() prepares the launch (dynamic shared memory); call(A, B, bias, C, stream) launches with device pointers.
  auto init = reinterpret_cast<int (*)()>(dlsym(library, "init"));
  auto call = dlsym(library, "call");
  if (init == nullptr || call == nullptr) {
    std::fprintf(stderr, "%s is no kernel of Warpwright\n", KERNEL_PATH);
    return 1;
  }
  if (init() != 0) {
    std::puts("kernel loaded; no device to run it on");
    return 0;
  }
  std::puts("kernel loaded and ready");
  return 0;
}
