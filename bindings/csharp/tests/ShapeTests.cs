// Properties of the interface that Unity programs rely on, checked by reflection.
// SPDX-License-Identifier: MIT
using System;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using Ggufx;

public static partial class Tests
{
    const BindingFlags Everything = BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;

    static bool IsDelegate(Type type) { return typeof(Delegate).IsAssignableFrom(type); }

    static bool Has(MemberInfo member, string attribute)
    {
        return member.GetCustomAttributesData().Any(a => a.Constructor.DeclaringType.Name == attribute);
    }

    /// IL2CPP makes native code of static methods with the attribute, and of nothing else.
    static void TestHooksAreStaticFunctions()
    {
        RuntimeHelpers.RunClassConstructor(typeof(Callbacks).TypeHandle);
        int addresses = new[] { typeof(Functions), typeof(Callbacks) }.Sum(t => t.GetFields(Everything).Count(f => f.FieldType == typeof(IntPtr)));
        That(Functions.Kept.Count == addresses && addresses > 10, addresses);
        foreach (var function in Functions.Kept)
        {
            That(function.Target == null && function.Method.IsStatic && function.GetInvocationList().Length == 1, function.Method);
            var attribute = function.Method.GetCustomAttributesData().Single(a => a.Constructor.DeclaringType.Name == "MonoPInvokeCallbackAttribute");
            That((Type)attribute.ConstructorArguments[0].Value == function.GetType(), function.Method);
            That(Has(function.GetType(), "UnmanagedFunctionPointerAttribute"), function.GetType());
        }
        // Only numbers, pointers and handles are passed to the library.
        foreach (var call in typeof(NativeMethods).GetMethods(Everything))
            That(!call.GetParameters().Any(p => IsDelegate(p.ParameterType)), call);
        foreach (var type in typeof(Runtime).Assembly.GetTypes().Where(t => t.Namespace == "Ggufx" && t.Name.StartsWith("Native") && t.IsValueType))
            That(!type.GetFields(Everything).Any(f => IsDelegate(f.FieldType)), type);
    }

    static void TestPublicTypes()
    {
        var types = typeof(Runtime).Assembly.GetTypes().Where(t => t.IsPublic && t.Namespace == "Ggufx").ToArray();
        That(types.Length > 50, types.Length);
        foreach (var type in types.Where(t => !t.IsEnum && !IsDelegate(t)))
            foreach (var field in type.GetFields(BindingFlags.Instance | BindingFlags.Public))
                throw new Exception("a field, not a property: " + type + "." + field);
        var exceptions = types.Where(t => typeof(Exception).IsAssignableFrom(t)).ToArray();
        That(exceptions.Length == 4 && exceptions.All(t => typeof(GgufxException).IsAssignableFrom(t)));
        That(Has(typeof(AttentionView), "IsByRefLikeAttribute") && Has(typeof(AttentionView), "IsReadOnlyAttribute"));
    }
}
