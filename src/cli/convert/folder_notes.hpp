// Files beside a model that say how its vectors are made, or that nothing carries over.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/model_folder.hpp"
#include "models/key_writer.hpp"

#include <set>

namespace ggufx::cli {

// Sets ARCH.pooling_type by the modules of sentence-transformers; what else changes output becomes
// a warning. `used`: names of the files of tensors that were read; empty: the folder was not asked
// for as a whole. `has_images`: tensors of images were named already.
void note_folder(KeyWriter &keys, ModelFolder &folder, const std::string &arch,
                 const std::set<std::string> &used, bool has_images);

// True where modules of sentence-transformers make one vector of a text.
bool pools_by_modules(const ModelFolder &folder);

// The files that give the pooling of a GGUF, by their names; empty without a known pooling_type.
std::vector<std::pair<std::string, Json>> pooling_files(const ggufx_file *file,
                                                        const std::string &arch);

// Why a folder without model.safetensors is no model, where that can be seen.
std::string missing_weights(const std::string &folder);

} // namespace ggufx::cli
