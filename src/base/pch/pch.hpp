// What most files of the core include, compiled once. Files include what they use all the same:
// tests/full.sh builds without this one (-Db_pch=false).
// SPDX-License-Identifier: MIT

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string.h>
#include <string>
#include <string_view>
#include <variant>
#include <vector>
