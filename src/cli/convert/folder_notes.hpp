// Files next to a model that determine its embeddings, or that have no counterpart in a GGUF.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/model_folder.hpp"
#include "models/key_writer.hpp"

#include <set>

namespace ggufx::cli {

// Sets ARCH.pooling_type by the modules of sentence-transformers; other settings that change output
// become warnings. `used`: the tensor files that were read; empty if a single file was converted.
// `has_images`: image tensors were reported already.
void note_folder(KeyWriter &keys, ModelFolder &folder, const std::string &arch,
                 const std::set<std::string> &used, bool has_images);

// Returns true if modules of sentence-transformers pool the output.
bool pools_by_modules(const ModelFolder &folder);

// Returns names and contents of files that set a GGUF's pooling; empty without a known
// pooling_type.
std::vector<std::pair<std::string, Json>> pooling_files(const ggufx_file *file,
                                                        const std::string &arch);

// Returns why a folder without model.safetensors is not a model, if the files show it.
std::string missing_weights(const std::string &folder);

} // namespace ggufx::cli
