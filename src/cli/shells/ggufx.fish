# Completion of ggufx in fish. The tool itself says what may follow: `ggufx --complete WORD...`.
# SPDX-License-Identifier: MIT
function __ggufx_complete
    set -l before (commandline -opc)
    set -l token (commandline -ct)
    set -l tool (string replace -r '^~' $HOME -- $before[1])
    set -l lines ($tool --complete $before[2..-1] "$token" 2>/dev/null)
    or return
    if test "$lines[1]" = words
        test (count $lines) -gt 1; and printf '%s\n' $lines[2..-1]
    else if string match -qr '^--[^=]*=' -- "$token"
        set -l parts (string split -m 1 = -- "$token")
        for file in (__fish_complete_path "$parts[2]")
            echo "$parts[1]=$file"
        end
    else
        __fish_complete_path "$token"
    end
end
complete -c ggufx -f -a '(__ggufx_complete)'
