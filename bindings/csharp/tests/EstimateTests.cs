// Memory estimates.
// SPDX-License-Identifier: MIT
using Ggufx;

public static partial class Tests
{
    static EstimateOptions Asked()
    {
        return new EstimateOptions { Quantizer = new QuantizerOptions { Flags = QuantizerFlags.AllowRequantize }, Context = 128 };
    }

    static void TestEstimates()
    {
        var file = Demo();
        var o = Asked();
        var a = Rt.Estimate(file, o);
        That(a.FileType == Constants.EstimateAsIs && (a.Flags & EstimateFlags.Fits) != 0 && a.Context == 128);
        That(a.TotalBytes == a.FileBytes + a.RuntimeBytes + a.ModelBytes + a.KvBytes + a.SessionBytes);
        o.FileType = Library.FileTypeFind("Q4_0");
        o.TypeK = TensorType.Q8_0;
        o.Bandwidth = 1e10;
        var b = Rt.Estimate(file, o);
        That(b.FileType == o.FileType && b.TypeK == TensorType.Q8_0 && b.WeightBytes < a.WeightBytes);
        That(b.Loss > a.Loss && b.TokensPerSecond > 0 && a.TokensPerSecond == 0);
        o.Bandwidth = -1;
        Fails(Status.Argument, () => Rt.Estimate(file, o));
        That(Rt.Estimate(file).Context >= 128);
    }

    static void TestRecommendations()
    {
        var file = Demo();
        var o = Asked();
        var whole = Rt.Recommend(file, o);
        o.MemoryBytes = whole.TotalBytes - 1;
        var less = Rt.Recommend(file, o);
        That(less.TotalBytes < whole.TotalBytes && less.Loss > whole.Loss);
        o.MemoryBytes = 1000;
        Fails(Status.Capacity, () => Rt.Recommend(file, o));
    }
}
