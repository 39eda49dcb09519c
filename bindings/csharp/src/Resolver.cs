// Library lookup in .NET: netstandard2.0, the one target that is built and tested, has no such call
// and mono reads Ggufx.dll.config. NOT COMPILED HERE: it waits for a target of .NET 5 or later.
// SPDX-License-Identifier: MIT
#if NET
using System;
using System.Reflection;
using System.Runtime.InteropServices;

namespace Ggufx
{
    internal static unsafe partial class NativeMethods
    {
        static NativeMethods()
        {
            NativeLibrary.SetDllImportResolver(typeof(NativeMethods).Assembly, Find);
        }

        /// Looks for the package's own file, one beside the program, then the installed name.
        private static IntPtr Find(string name, Assembly assembly, DllImportSearchPath? paths)
        {
            IntPtr library;
            if (name != Library) return IntPtr.Zero;
            if (NativeLibrary.TryLoad(name, assembly, paths, out library)) return library;
            string installed = RuntimeInformation.IsOSPlatform(OSPlatform.OSX) ? "libggufx.0.dylib" : "libggufx.so.0";
            return NativeLibrary.TryLoad(installed, assembly, paths, out library) ? library : IntPtr.Zero;
        }
    }
}
#endif
