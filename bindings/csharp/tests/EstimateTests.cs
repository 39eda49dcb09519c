// Memory estimates.
// SPDX-License-Identifier: MIT
using Ggufx;

public static partial class Tests
{
    static EstimateOptions Asked()
    {
        return new EstimateOptions { Quantizer = new QuantizerOptions { Flags = JobFlags.AllowRequantize }, Context = 128 };
    }

    static void TestEstimates()
    {
        var file = Demo();
        var o = Asked();
        var a = Estimate.Of(Rt, file, o);
        That(a.FileType == Constants.EstimateAsIs && (a.Flags & EstimateFlags.Fits) != 0 && a.Context == 128);
        That(a.TotalBytes == a.FileBytes + a.RuntimeBytes + a.ModelBytes + a.KvBytes + a.SessionBytes);
        o.Recipe = FileType.FromName("Q4_0");
        o.TypeK = KvType.Q8_0;
        o.Bandwidth = 1e10;
        var b = Estimate.Of(Rt, file, o);
        That(b.FileType == o.Recipe.Id && b.TypeK == KvType.Q8_0 && b.WeightBytes < a.WeightBytes);
        That(b.Loss > a.Loss && b.TokensPerSecond > 0 && a.TokensPerSecond == 0);
        o.Bandwidth = -1;
        Fails(Status.Argument, () => Estimate.Of(Rt, file, o));
        That(Estimate.Of(Rt, file).Context >= 128);
    }

    static void TestRecommendations()
    {
        var file = Demo();
        var o = Asked();
        var whole = Estimate.Recommend(Rt, file, o);
        o.MemoryBytes = whole.TotalBytes - 1;
        var less = Estimate.Recommend(Rt, file, o);
        That(less.TotalBytes < whole.TotalBytes && less.Loss > whole.Loss);
        o.MemoryBytes = 1000;
        Fails(Status.Capacity, () => Estimate.Recommend(Rt, file, o));
    }
}
