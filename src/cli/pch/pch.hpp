// Headers that most files of the tool include, precompiled.
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
