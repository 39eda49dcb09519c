// Frees memory of the C++ runtime when the library is unloaded. A statically linked runtime takes
// 73 KB from malloc for exceptions without memory, and frees it only on request.
// SPDX-License-Identifier: MIT

namespace __gnu_cxx {
void __freeres(); // in libstdc++, for leak checkers
}

namespace {

__attribute__((destructor)) void free_runtime() {
    __gnu_cxx::__freeres();
}

} // namespace
