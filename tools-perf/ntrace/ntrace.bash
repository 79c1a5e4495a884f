# SPDX-License-Identifier: GPL-2.0-only
# Completion of the ntrace command for bash

_ntrace_options()	# COMMAND [tv's COMMAND]: as its help tells
{
	"${COMP_WORDS[0]}" "$@" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*=?' | sort -u
}

_ntrace_files()
{
	local IFS=$'\n'

	compopt -o filenames 2>/dev/null
	# shellcheck disable=SC2207
	COMPREPLY=($(compgen -f -- "$1"))
}

_ntrace_values()	# OPTION COMMAND [tv's COMMAND]: what may stand behind it, as the help tells
{
	case $1 in
	--retstack|--syncmode) echo "0 1 2 3" ;;
	*) "${COMP_WORDS[0]}" "${@:2}" --help 2>/dev/null |
		sed -nE "s/^ +([^=]*, )?$1=([a-z0-9.-]+(\|[a-z0-9.-]+)+)( .*)?$/\2/p" |
		tr '|' ' ' ;;
	esac
}

_ntrace()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} option values
	local -a command=("${COMP_WORDS[1]}")

	[ "${command[0]}" != tv ] || command+=("${COMP_WORDS[2]:-}")

	# bash splits --option=value at the =
	if [ "$cur" = = ]; then
		option=$prev cur=
	elif [ "$prev" = = ]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ $prev == --elf || $prev == --raw || $prev == --pc || $prev == -o ]]; then
		option=$prev
	fi
	if [ "$COMP_CWORD" = 1 ]; then
		# shellcheck disable=SC2207
		COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" --help | sed -n 's/^  \([a-z]*\) .*/\1/p') --help" \
			-- "$cur"))
	elif [[ $COMP_CWORD = 2 && ${COMP_WORDS[1]} = tv ]]; then
		# shellcheck disable=SC2207
		COMPREPLY=($(compgen -W "dump stat from-elf verify --help" -- "$cur"))
	elif [ -n "${option:-}" ] && values=$(_ntrace_values "$option" "${command[@]}") &&
		[ -n "$values" ]; then
		# shellcheck disable=SC2207
		COMPREPLY=($(compgen -W "$values" -- "$cur"))
	elif [[ ${COMP_WORDS[1]} = record && $prev = -e ]]; then
		# shellcheck disable=SC2207
		COMPREPLY=($(compgen -W "ntrace//u ntrace//k ntrace//" -- "$cur"))
	elif [[ -z ${option:-} && $cur == -* ]]; then
		# shellcheck disable=SC2207
		COMPREPLY=($(compgen -W "$(_ntrace_options "${command[@]}")" -- "$cur"))
		[[ ${COMPREPLY[0]:-} != *= ]] || compopt -o nospace 2>/dev/null
	else
		_ntrace_files "$cur"
	fi
}

complete -F _ntrace ntrace
