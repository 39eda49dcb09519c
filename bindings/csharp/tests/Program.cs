// Test runner without a framework: runs every method named Test..., and has the shared helpers.
// SPDX-License-Identifier: MIT
using System;
using System.Linq;
using System.Reflection;
using Ggufx;

public static partial class Tests
{
    /// The demo model; tests that need it are skipped without it.
    internal static string ModelPath
    {
        get
        {
            string path = Environment.GetEnvironmentVariable("GGUFX_TEST_MODEL");
            if (string.IsNullOrEmpty(path)) throw new Skipped("GGUFX_TEST_MODEL names no model");
            return path;
        }
    }
    internal static readonly Runtime Rt = new Runtime(new RuntimeOptions { Threads = 2 });

    public static int Main(string[] arguments)
    {
        if (arguments.Length == 1 && arguments[0] == "cost")
        {
            PrintCost();
            return 0;
        }
        var tests = typeof(Tests).GetMethods(BindingFlags.Static | BindingFlags.NonPublic | BindingFlags.Public)
            .Where(m => m.Name.StartsWith("Test")).ToArray();
        if (arguments.Length == 1) tests = tests.Where(m => m.Name == arguments[0]).ToArray();
        int failed = 0, skipped = 0;
        foreach (var test in tests)
        {
            try
            {
                test.Invoke(null, null);
            }
            catch (TargetInvocationException e) when (e.InnerException is Skipped)
            {
                skipped++;
                Console.WriteLine("skipped: " + test.Name + ": " + e.InnerException.Message);
            }
            catch (TargetInvocationException e)
            {
                failed++;
                Console.WriteLine("FAILED: " + test.Name + ": " + e.InnerException);
            }
        }
        Console.WriteLine(tests.Length - failed - skipped + " passed, " + skipped + " skipped, " + failed + " failed");
        return failed == 0 && (tests.Length > 10 || arguments.Length == 1 && tests.Length == 1) ? 0 : 1;
    }

    internal static GgufFile Demo() { return GgufFile.Open(Rt, ModelPath); }

    internal static void That(bool condition, object what = null)
    {
        if (!condition) throw new Exception("not so: " + what);
    }

    internal static GgufxException Fails(Status status, Action action)
    {
        try
        {
            action();
        }
        catch (GgufxException e)
        {
            That(e.Status == status && e.Message.Length > 4, e);
            return e;
        }
        throw new Exception("no failure, expected " + status);
    }

    internal static T Throws<T>(Action action) where T : Exception
    {
        try
        {
            action();
        }
        catch (T e)
        {
            return e;
        }
        throw new Exception("not thrown: " + typeof(T));
    }

    internal static float[] Numbers(int n)
    {
        return Enumerable.Range(0, n).Select(i => (i * 7919L + 13) % 2003 / 1001f - 1).ToArray();
    }

    internal static bool Near(ReadOnlySpan<float> a, ReadOnlySpan<float> b, double limit)
    {
        for (int i = 0; i < a.Length; i++)
            if (!(Math.Abs(a[i] - b[i]) <= limit)) return false;
        return a.Length == b.Length;
    }
}

internal sealed class Skipped : Exception
{
    internal Skipped(string message) : base(message) { }
}

internal sealed class Calls<T> : IProgress<T>
{
    private readonly Action<T> _action;
    internal int Count;
    internal Calls(Action<T> action) { _action = action; }
    public void Report(T value)
    {
        Count++;
        _action(value);
    }
}
