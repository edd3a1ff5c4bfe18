# Completion of animalstore for fish. To load it: animalstore completion fish | source
function __animalstore_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found (command animalstore completion fish -- $words[2..-1] "$current" 2>/dev/null)
    if test "$found" = :files
        set -l flag (string match -r -- '^--[^=]*=' "$current"; or echo "")
        printf '%s\n' $flag(__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$current"))
    else
        printf '%s\n' $found
    end
end
complete -c animalstore -f -a '(__animalstore_complete)'
