#compdef ntrace
# SPDX-License-Identifier: GPL-2.0-only
# Completion of the ntrace command for zsh. Commands, options, their descriptions and values come
# from the command's own help.

# _ntrace_specs COMMAND...: of its help, a line for each option, as _arguments wants it
_ntrace_specs()
{
	_call_program options "$@" --help 2>/dev/null | awk '
		function quoted(text) {
			gsub(/\[|\]|:|\\/, "\\\\&", text)
			return text
		}
		function action(value) {
			if (value ~ /^[a-z0-9.-]+(\|[a-z0-9.-]+)+$/) {
				gsub(/\|/, " ", value)
				return "value:(" value ")"
			}
			if (value ~ /DIR/)
				return "directory:_files -/"
			if (value ~ /FILE|ELF|SOCKET/)
				return "file:_files"
			return quoted(tolower(value)) ":"
		}
		# "-o, --output=FILE   text", "--snapshot[=SIZE] text", and "-?, --help"
		function finish(    n, i, name, names, value, may, each) {
			if (!option)
				return
			n = split(option, names, /, */)
			may = option ~ /\[=/
			value = ""
			if (match(option, /=.*/)) {
				value = substr(option, RSTART + 1)
				sub(/, --.*/, "", value)
				if (may)
					sub(/\]$/, "", value)
			}
			for (i = 1; i <= n; i++) {
				name = names[i]
				sub(/\[?=.*/, "", name)
				if (name !~ /^-/ || name == "-?")
					continue
				each = name ~ /^--/ ? (may ? "=-" : "=") : (may ? "-" : "+")
				print "*" name (value == "" ? "" : each) \
					"[" quoted(text) "]" (value == "" ? "" : (may ? "::" : ":") action(value))
			}
			option = ""
		}
		/^ +-/ {
			finish()
			line = $0
			sub(/^ +/, "", line)
			match(line, /^(-[^ ]+, )*-[^ ]+/)
			option = substr(line, 1, RLENGTH)
			text = substr(line, RLENGTH + 1)
			sub(/^ +/, "", text)
			next
		}
		/^ {20,}[^ ]/ && option {
			line = $0
			sub(/^ +/, "", line)
			text = text (text == "" ? "" : " ") line
			next
		}
		{ finish() }
		END { finish() }'
}

_ntrace()
{
	local program=$words[1] command=$words[2]
	local -a commands specs call

	if (( CURRENT == 2 )); then
		commands=(${(f)"$(_call_program commands $program --help 2>/dev/null |
			sed -n 's/^  \([a-z]*\)  *\(.*\)/\1:\2/p')"} --help:'list the commands')
		_describe -t commands 'ntrace command' commands
		return
	fi
	call=($program $command)
	if [[ $command == tv ]]; then
		if (( CURRENT == 3 )); then
			_values 'tv command' dump stat from-elf verify
			return
		fi
		call+=($words[3])
		shift words
		(( CURRENT-- ))
	fi
	shift words
	(( CURRENT-- ))
	specs=(${(f)"$(_ntrace_specs $call)"})
	if [[ $command == record ]]; then
		_arguments -S $specs '*:: :_normal'
	else
		_arguments -S $specs '*:file:_files'
	fi
}

_ntrace "$@"
