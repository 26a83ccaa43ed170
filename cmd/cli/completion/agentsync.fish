# fish completion for agentsync.
# Install it with: agentsync completion fish > ~/.config/fish/completions/agentsync.fish
function __agentsync_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    $words[1] __complete $words[2..-1] "$current" 2>/dev/null
end
complete -c agentsync -a '(__agentsync_complete)'
