// The plan of a quantization, tensor by tensor.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;

namespace Ggufx
{
    public sealed unsafe partial class Quantizer
    {
        /// <summary>Set per-tensor overrides by a function; null leaves a tensor to the recipe.
        /// Replaces earlier overrides; after a failure the plan is as it was.</summary>
        public void Choose(Func<QuantizerTensorFacts, TensorType?> rule)
        {
            var types = new List<TensorType>();
            foreach (QuantizerTensorFacts tensor in Tensors) types.Add(rule(tensor) ?? (TensorType)Constants.QuantizerDefaultType);
            OverrideTypes(types.ToArray());
        }
    }
}
