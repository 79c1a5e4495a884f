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

_ntrace_values()	# COMMAND OPTION: what may stand behind it
{
	case $2 in
	--output) echo "pc insn branch block ctr" ;;
	--format) case $1 in
		calls) echo "table csv json" ;;
		coverage) echo "text lcov" ;;
		fleet) echo "llvm-profgen autofdo bolt pprof folded callgrind" ;;
		*) echo "llvm-profgen autofdo bolt edges pprof folded callgrind" ;;
		esac ;;
	--engine) echo "local slurm" ;;
	--send) echo "edges recording" ;;
	--by) echo "time insns" ;;
	--value) echo "insns branches time" ;;
	--profile) echo "1.0 p550 sifive tt-dfd" ;;
	--xlen|--flen) echo "32 64" ;;
	--mlen) echo "32 34 64" ;;
	--retstack|--syncmode) echo "0 1 2 3" ;;
	esac
}

_ntrace()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} option

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
	elif [ -n "${option:-}" ] && [ -n "$(_ntrace_values "${COMP_WORDS[1]}" "$option")" ] &&
	     [ "${COMP_WORDS[1]} $option" != "encode --output" ]; then
		# shellcheck disable=SC2207
		COMPREPLY=($(compgen -W "$(_ntrace_values "${COMP_WORDS[1]}" "$option")" -- "$cur"))
	elif [[ ${COMP_WORDS[1]} = record && $prev = -e ]]; then
		# shellcheck disable=SC2207
		COMPREPLY=($(compgen -W "ntrace//u ntrace//k ntrace//" -- "$cur"))
	elif [[ -z ${option:-} && $cur == -* ]]; then
		# shellcheck disable=SC2207
		COMPREPLY=($(compgen -W "$(if [ "${COMP_WORDS[1]}" = tv ]; then
			_ntrace_options tv "${COMP_WORDS[2]}"; else
			_ntrace_options "${COMP_WORDS[1]}"; fi)" -- "$cur"))
		[[ ${COMPREPLY[0]:-} != *= ]] || compopt -o nospace 2>/dev/null
	else
		_ntrace_files "$cur"
	fi
}

complete -F _ntrace ntrace
