// Precompiled header: standard headers that most files of the core include. Files still include all
// that they use: tests/full.sh builds without it (-Db_pch=false).
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
