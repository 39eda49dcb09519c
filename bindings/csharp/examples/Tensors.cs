// Open a file and list its tensors: name, type, values per row and rows.
// SPDX-License-Identifier: MIT
using System;
using Ggufx;

static class Tensors
{
    static void Main(string[] args)
    {
        using (var rt = new Runtime())
        using (var file = GgufFile.Open(rt, args[0]))
            foreach (var tensor in file.Tensors)
            {
                var info = tensor.Info;
                Console.WriteLine("{0} {1} {2} x {3}", info.Name, info.Type.TypeInfo().Name, info.Ne[0], info.Rows);
            }
    }
}
