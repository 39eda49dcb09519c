// Precompiled header of the tests with models and stored results. Sources still include the headers
// that they use.
// SPDX-License-Identifier: MIT

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
