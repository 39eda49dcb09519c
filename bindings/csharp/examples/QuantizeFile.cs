// Quantizes a whole model by the recipe Q4_K_M, to the same bytes as the reference quantizer.
// usage: quantizefile.exe MODEL.gguf OUT.gguf
// SPDX-License-Identifier: MIT
using System;
using Ggufx;

static class QuantizeFile
{
    static void Main(string[] args)
    {
        var options = new QuantizerOptions { Flags = QuantizerFlags.AllowRequantize }; // the demo's model is Q8_0 already
        using (var rt = new Runtime())
        using (var file = GgufFile.Open(rt, args[0]))
        using (var job = new Quantizer(rt, file, Library.FileTypeFind("Q4_K_M"), options))
        {
            var plan = job.Info;
            job.Run(args[1]);
            Console.WriteLine("{0} tensors, {1} bytes become {2}", plan.Tensors, plan.BytesIn, plan.BytesOut);
        }
    }
}
