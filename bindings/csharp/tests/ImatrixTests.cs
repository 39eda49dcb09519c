// SPDX-License-Identifier: MIT
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using Ggufx;

public static partial class Tests
{
    // Two tensors of two and three columns, one call of 512 tokens, data set "text".
    static byte[] OldImatrix()
    {
        var to = new BinaryWriter(new MemoryStream());
        to.Write(2);
        foreach (var entry in new[] { new { Name = "a.weight", Values = new[] { 512f, 1024f } }, new { Name = "b.weight", Values = new[] { 1f, 2f, 3f } } })
        {
            to.Write(entry.Name.Length);
            to.Write(Encoding.ASCII.GetBytes(entry.Name));
            to.Write(1);
            to.Write(entry.Values.Length);
            foreach (float v in entry.Values) to.Write(v);
        }
        to.Write(1);
        to.Write(4);
        to.Write(Encoding.ASCII.GetBytes("text"));
        return ((MemoryStream)to.BaseStream).ToArray();
    }

    static void TestImatrix()
    {
        string path = Path.GetTempFileName();
        var m = Imatrix.OpenMemory(Rt, OldImatrix());
        That(m.Info.Entries == 2 && m.Info.Datasets == 1 && m.Info.Format == ImatrixFormat.Dat);
        That(m.DatasetAt(0) == "text");
        var first = m.EntryAt(m.Find("a.weight"));
        That(first.Columns == 2 && first.Values[1] == 2 * first.Values[0]);
        m.Merge(Imatrix.OpenMemory(Rt, OldImatrix()));
        That(m.EntryAt(0).Counts[0] == 2 * first.Counts[0]);
        m.Write(path, ImatrixFormat.Gguf);
        That(Imatrix.Open(Rt, path).EntryAt(0).Sums.SequenceEqual(m.EntryAt(0).Sums));
        Fails(Status.Cancelled, () => Imatrix.Open(Rt, path, new CancellationToken(true)));
        File.Delete(path);
        m.KeepEntries(new byte[] { 0, 1 });
        That(m.EntryAt(0).Name == "b.weight");
        Fails(Status.NotFound, () => m.Find("a.weight"));
        Fails(Status.Argument, () => m.KeepEntries(new byte[] { 1, 1 }));
        Fails(Status.NotFound, () => Imatrix.Open(Rt, "/nowhere/x"));
        Fails(Status.Malformed, () => Imatrix.OpenMemory(Rt, OldImatrix().Take(60).ToArray()));
        Fails(Status.Io, () => m.Write("/nowhere/x", ImatrixFormat.Dat));
        m.Dispose();
    }
}
