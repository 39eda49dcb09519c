// What a library with a C++ runtime of its own leaves behind when it is unloaded: that runtime
// takes 73 KB from malloc for exceptions when there is no memory, and gives them back when it is
// told to.
// SPDX-License-Identifier: MIT

namespace __gnu_cxx {
void __freeres(); // libstdc++'s, for programs that look for leaks
}

namespace {

__attribute__((destructor)) void free_runtime() {
    __gnu_cxx::__freeres();
}

} // namespace
