# SPDX-License-Identifier: GPL-2.0-only
# What KUnit says of a suite, as TAP without levels: each case a line.
#	awk -f ktap.awk -v suite=NAME

$1 == "ok" || ($1 == "not" && $2 == "ok") {
	# the suite's own line stands behind those of its cases
	if ($NF == suite)
		next
	sub(/^ */, "")
	print
	n++
	bad += $1 == "not"
	next
}
{ sub(/^ *#?/, "#"); print }
END { print "1.." n + 0; exit bad || !n }
