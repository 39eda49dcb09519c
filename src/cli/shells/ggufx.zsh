#compdef ggufx
# Completion of ggufx in zsh. The tool itself says what may follow: `ggufx --complete WORD...`.
# SPDX-License-Identifier: MIT
_ggufx() {
    local -a lines described
    local line word
    lines=("${(@f)$("${words[1]/#\~/$HOME}" --complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    if [[ $lines[1] != words ]]; then
        [[ $PREFIX == --*=* ]] && compset -P '*='
        _files
        return
    fi
    for line in "${(@)lines[2,-1]}"; do
        word=${line%%$'\t'*}
        described+=("${word//:/\\:}:${line#*$'\t'}")
    done
    # -U: the tool has compared already, without regard to case.
    _describe 'ggufx' described -U
}
if [[ $funcstack[1] == _ggufx ]]; then
    _ggufx "$@" # found in fpath
else
    compdef _ggufx ggufx
fi
