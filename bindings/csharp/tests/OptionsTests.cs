// Options: each property of each class changes its field of the struct that C reads.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Linq.Expressions;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Threading;
using Ggufx;

public static partial class Tests
{
    // Filled by code by hand; a device, which not every machine has.
    static readonly string[] ByHand = { "RuntimeOptions.Log", "RuntimeOptions.Executor", "RuntimeOptions.Allocator",
        "ModelOptions.Device" };

    /// A value that is not the default one.
    static object Sample(Type type)
    {
        type = Nullable.GetUnderlyingType(type) ?? type;
        if (type == typeof(bool)) return true;
        if (type == typeof(string)) return "x";
        if (type == typeof(CancellationToken)) return new CancellationToken(true);
        if (type == typeof(IProgress<Progress>)) return new Calls<Progress>(p => { });
        if (type == typeof(IDictionary<string, string>)) return new Dictionary<string, string> { { "key", "value" } };
        if (type == typeof(GgufFile)) return Demo();
        if (type == typeof(Model)) return new Model(Rt, Demo());
        if (type == typeof(Session)) return SmallSession();
        if (type == typeof(Generator)) return new Generator(SmallSession());
        if (type == typeof(Tokenizer)) return new Tokenizer(Demo());
        if (type == typeof(Moments)) return new Moments(Rt, 1);
        if (type == typeof(Sampler)) return new Sampler(Rt, 8, 0);
        if (type == typeof(Grammar)) return new Grammar(Rt, new Tokenizer(Demo()), new GrammarOptions { Text = "root ::= \"a\"" });
        if (type == typeof(Imatrix)) return Imatrix.OpenMemory(Rt, OldImatrix());
        if (type == typeof(ChatTemplate)) return Of(Template);
        if (type == typeof(ChatPrompt)) return new ChatPrompt(new ChatPromptOptions { Chat = Of(Template), Tokenizer = new Tokenizer(Demo()), Request = new ChatRequest() });
        if (type == typeof(Adapter)) return new Adapter((Model)Sample(typeof(Model)), LoraFile());
        if (type.IsEnum) return Enum.ToObject(type, 1);
        if (type.IsPrimitive) return Convert.ChangeType(1, type);
        if (type == typeof(Array)) return new float[1];
        if (type.IsArray) return OneOf(type.GetElementType());
        if (typeof(Delegate).IsAssignableFrom(type)) return Function(type);
        if (type.IsGenericType && type.GetGenericTypeDefinition() == typeof(IReadOnlyList<>)) return OneOf(type.GetGenericArguments()[0]);
        if (type.Namespace == "Ggufx" && type.GetConstructor(Type.EmptyTypes) != null) return Activator.CreateInstance(type);
        return type.IsValueType ? Activator.CreateInstance(type) : null;
    }

    static Array OneOf(Type type)
    {
        var list = Array.CreateInstance(type, 1);
        list.SetValue(Sample(type), 0);
        return list;
    }

    static Delegate Function(Type type)
    {
        var parameters = type.GetMethod("Invoke").GetParameters().Select(p => Expression.Parameter(p.ParameterType)).ToArray();
        var result = Expression.Default(type.GetMethod("Invoke").ReturnType);
        return Expression.Lambda(type, result, parameters).Compile();
    }

    static MethodInfo FillOf(Type type) { return type.GetMethods(Everything).SingleOrDefault(m => m.Name == "Fill" && !m.IsStatic); }

    /// The fields of the struct that C reads, by their names; an address counts as "there is one".
    static unsafe Dictionary<string, string> Filled(object options)
    {
        var fill = FillOf(options.GetType());
        Type native = fill.GetParameters()[0].ParameterType.GetElementType();
        var bytes = new byte[NativeSizes.All.Values.Max()];
        using (var scope = Scope.New())
            fixed (byte* to = bytes)
            {
                object at = (IntPtr)to; // mono takes no Pointer
                fill.Invoke(options, fill.GetParameters().Length == 1 ? new[] { at } : new[] { at, scope });
            }
        return native.GetFields(Everything).ToDictionary(f => f.Name, f =>
        {
            int offset = (int)Marshal.OffsetOf(native, f.Name);
            bool address = f.FieldType.IsPointer || f.FieldType == typeof(IntPtr);
            return address ? (BitConverter.ToInt64(bytes, offset) != 0).ToString() : BitConverter.ToString(bytes, offset, Marshal.SizeOf(f.FieldType));
        });
    }

    static string Plain(string name) { return name.Replace("_", "").ToLowerInvariant(); }

    static void TestEveryPropertyReachesItsFieldOfTheLibrary()
    {
        int n = 0;
        foreach (var type in typeof(Runtime).Assembly.GetTypes().Where(t => t.IsPublic && FillOf(t) != null))
        {
            var none = Filled(Activator.CreateInstance(type));
            foreach (var property in type.GetProperties().Where(p => !ByHand.Contains(type.Name + "." + p.Name)))
            {
                object options = Activator.CreateInstance(type);
                property.SetValue(options, Sample(property.PropertyType));
                foreach (string count in new[] { "Tokens", "Queries", "NRows", "Cols", "N", "Columns" }) // of the elements of arrays
                    if (property.PropertyType.IsArray && type.GetProperty(count)?.PropertyType == typeof(long)) type.GetProperty(count).SetValue(options, 1L);
                if (property.Name == "Weights") type.GetProperty("Ranks").SetValue(options, 1u); // which tells their number
                var changed = Filled(options).Where(f => f.Value != none[f.Key]).Select(f => Plain(f.Key));
                string name = property.PropertyType == typeof(CancellationToken) ? "progress" : Plain(property.Name);
                That(changed.Any(f => f == name || f == "n" + name), type + "." + property.Name + ": " + string.Join(" ", changed));
                n++;
            }
        }
        That(n > 150, n);
    }

    static Quantizer Planned(QuantizerOptions options)
    {
        options.Flags |= QuantizerFlags.AllowRequantize;
        return new Quantizer(Rt, Demo(), Library.FileTypeFind("q4_0"), options);
    }

    static void TestQuantizerOptions()
    {
        Func<QuantizerOptions, TensorType> embedding = o => Planned(o).Tensors.First(t => t.Name == "token_embd.weight").To;
        That(embedding(new QuantizerOptions { EmbeddingType = TensorType.Q5_0, Flags = QuantizerFlags.EmbeddingType }) == TensorType.Q5_0);
        That(embedding(new QuantizerOptions { OutputType = TensorType.Q5_1, Flags = QuantizerFlags.OutputType }) == TensorType.Q5_1); // it is the output, too
        ulong more = Planned(new QuantizerOptions { ReserveBytes = 65536 }).Info.FileBytes - Planned(new QuantizerOptions()).Info.FileBytes;
        That(more >= 65536 && more < 65536 + 200, more);
        string path = Free();
        var q = Planned(new QuantizerOptions { Imatrix = Imatrix.OpenMemory(Rt, OldImatrix()), ImatrixName = "calibration.dat" });
        That(q.Info.Missing > 0);
        q.Run(path);
        using (var file = GgufFile.Open(Rt, path)) That(file.MetaString(file.MetaFind("quantize.imatrix.file")) == "calibration.dat");
        File.Delete(path);
    }
}
