// What the tests with models and stored answers include, compiled once. Files include what they use all the same.
// SPDX-License-Identifier: MIT

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>
