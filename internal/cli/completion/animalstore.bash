# Completion of animalstore for bash. To load it: eval "$(animalstore completion bash)"
_animalstore() {
    local line=${COMP_LINE:0:COMP_POINT} words current breaks before candidates candidate
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    current=${words[${#words[@]} - 1]}
    COMPREPLY=()
    candidates=$(command animalstore completion bash -- "${words[@]:1}" 2>/dev/null) || return
    if [[ $candidates == :files ]]; then
        compopt -o default 2>/dev/null
        return
    fi
    # bash replaces only what follows the last character that breaks words, as in --status=available and pets:read.
    breaks=${COMP_WORDBREAKS//[^:=]/}
    before=
    [[ -n $breaks ]] && before=${current%"${current##*[$breaks]}"}
    while IFS= read -r candidate; do
        [[ -n $candidate ]] && COMPREPLY+=("${candidate#"$before"}")
    done <<<"$candidates"
}
complete -F _animalstore animalstore
