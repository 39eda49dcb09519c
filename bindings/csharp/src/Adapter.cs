// Conveniences of adapters, matchers and conversations.
// SPDX-License-Identifier: MIT
namespace Ggufx
{
    public partial struct AdapterUse
    {
        /// <summary>An adapter with a scale.</summary>
        public AdapterUse(Adapter adapter, float scale = 1)
        {
            Adapter = adapter;
            Scale = scale;
        }
    }

    public sealed unsafe partial class Matcher
    {
        /// <summary>Allowed next tokens, as a new array: bit id % 32 of word id / 32.</summary>
        public uint[] Mask()
        {
            var words = new uint[Info.Words];
            Mask(words);
            return words;
        }
    }
}
