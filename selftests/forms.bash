# SPDX-License-Identifier: GPL-2.0-only
# Lines of perf script and of ntrace script: what differs in form alone is spaces and the name of
# the event. Losses have one form, too. Sourced.

same_form()
{
	sed -E -e 's/ +/ /g; s/^ //; s/ $//; s/branches:[a-zA-Z]*:?/branches:/' \
		-e 's/instructions:[a-zA-Z]*:?/instructions:/' \
		-e 's/^instruction trace error type 1 time /# loss time /'
}

# Where two CPUs do something at the same time, perf may take either first.
by_cpu()
{
	sort -s -t '[' -k 2,2.4
}
