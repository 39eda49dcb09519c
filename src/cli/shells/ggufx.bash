# Completion of ggufx in bash. The tool itself says what may follow: `ggufx --complete WORD...`.
# SPDX-License-Identifier: MIT
_ggufx() {
    local words=() n=0 i word line lines joined=
    # bash takes "--type=q8_0" for three words.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((n > 0)) && [[ ($word == "=" && ${words[n - 1]} == --*) ||
            ($word != "" && ${words[n - 1]} == --*=) ]]; then
            words[n - 1]+=$word
            joined=yes
        else
            words[n++]=$word
            joined=
        fi
    done
    local IFS=$'\n'
    # shellcheck disable=SC2207
    lines=($("${1/#\~/$HOME}" --complete "${words[@]}" 2>/dev/null))
    COMPREPLY=()
    [[ ${lines[0]} == words ]] || return 0 # names of files: bash's own
    compopt +o default +o bashdefault 2>/dev/null
    for line in "${lines[@]:1}"; do
        word=${line%%$'\t'*}
        [[ $joined ]] && word=${word#*=}
        COMPREPLY+=("$word")
    done
}
complete -o bashdefault -o default -F _ggufx ggufx
