// Completion for the shells: each script asks the program itself, so that it knows what the program knows; pure.

/** `launcher`: asked when the word that is completed is an alias, or not on the path. In single quotes of the shell. */
type Script = (launcher: string) => string;

/** As the shells all read it. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const bash: Script = (launcher) => `# bash completion of porthole
_porthole() {
  local typed program line
  typed="\${COMP_LINE:0:COMP_POINT}"
  program="$(type -P -- "$1")" || program=${quoted(launcher)}
  local -a words
  read -ra words <<< "$typed"
  [[ "$typed" == *[[:space:]] ]] && words+=('')
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ "$line" == ':files' ]]; then
      compopt -o default
      return
    fi
    line="\${line%%$'\\t'*}"
    # Readline takes what stands behind = for a word.
    [[ "$line" == -*=* ]] && line="\${line#*=}"
    COMPREPLY+=("$line")
  done < <("$program" __complete -- "\${words[@]:1}" 2> /dev/null)
}
complete -F _porthole porthole
`;

const zsh: Script = (launcher) => `#compdef porthole
# zsh completion of porthole
_porthole() {
  local program line
  local -a lines described
  program="$(whence -p -- "\${words[1]}")" || program=${quoted(launcher)}
  lines=("\${(@f)$("$program" __complete -- "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  if [[ "\${lines[1]}" == ':files' ]]; then
    _files
    return
  fi
  for line in "\${lines[@]}"; do
    [[ -n "$line" ]] && described+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe -t values porthole described
}
if [[ "\${funcstack[1]}" == _porthole ]]; then
  _porthole "$@"
else
  compdef _porthole porthole
fi
`;

const fish: Script = (launcher) => `# fish completion of porthole
function __porthole_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l program (type -fP -- $words[1] 2> /dev/null)
    or set program ${quoted(launcher)}
    set -l lines ($program __complete -- $words[2..-1] 2> /dev/null)
    if test "$lines[1]" = ':files'
        __fish_complete_path (commandline -ct)
        return
    end
    string join \\n -- $lines
end
complete -c porthole -f -a '(__porthole_complete)'
`;

export const completionScripts: Readonly<Record<string, Script>> = { bash, zsh, fish };
