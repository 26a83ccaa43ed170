#compdef agentsync
# zsh completion for agentsync. Load it with: source <(agentsync completion zsh)
_agentsync() {
	local -a offered
	local word help
	while IFS=$'\t' read -r word help; do
		offered+=("${word//:/\\:}:${help}")
	done < <("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
	if (( ${#offered} )); then
		_describe agentsync offered
	else
		_files
	fi
}
compdef _agentsync agentsync
