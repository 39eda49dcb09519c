// What most files of the tool include, compiled once. Files include what they use all the same.
// SPDX-License-Identifier: MIT

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>
