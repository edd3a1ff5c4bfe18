#compdef animalstore
# Completion of animalstore for zsh. To load it, after compinit: source <(animalstore completion zsh)
_animalstore() {
    local found
    local -a candidates
    found=$(command animalstore completion zsh -- "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)
    if [[ $found == :files ]]; then
        compset -P '--*='
        _files
    elif [[ -n $found ]]; then
        candidates=("${(@f)found}")
        _describe animalstore candidates
    fi
}
# As a file in the path of zsh's functions, this is the body of the function itself.
if [[ ${funcstack[1]} == _animalstore ]]; then
    _animalstore "$@"
else
    compdef _animalstore animalstore
fi
