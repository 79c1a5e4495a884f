# SPDX-License-Identifier: GPL-2.0-only
# Reads what lab/topology prints, then what the model logged (reg_log=), and says of each
# requirement how often it applied and how often it was not met:
#	R2 CHECKS FAILURES LINE-OF-THE-FIRST-FAILURE
# Numbers are hexadecimal in the log; awk has no bits, so what is needed of a word is cut out.

function number(hex,	i, n)
{
	for (i = 1; i <= length(hex); i++)
		n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
	return n
}

function bits(word, low, count)
{
	return int(word / 2 ^ low) % 2 ^ count
}

# Is anything set outside of the fields, given as "LOW COUNT ..."?
function beyond(word, fields,	i, n, f)
{
	n = split(fields, f, " ")
	for (i = 1; i < n; i += 2)
		word -= bits(word, f[i], f[i + 1]) * 2 ^ f[i]
	return word != 0
}

function check(r, ok)
{
	checks[r]++
	if (!ok && !failures[r]++)
		first[r] = FNR ": " $0
}

function kind(name)
{
	sub(/[0-9]+$/, "", name)
	return name
}

# Everything that a component's trace goes to: is it enabled, as far as was read?
function downstream_on(name,	i, on)
{
	on = 1
	for (i = 0; i < links; i++)
		if (from[i] == name)
			on = on && enabled[to[i]] && downstream_on(to[i])
	return on
}

# Everything that leads there: is it off and empty, as far as was read?
function upstream_off(name,	i, off)
{
	off = 1
	for (i = 0; i < links; i++)
		if (to[i] == name && (from[i] in seen))
			off = off && !enabled[from[i]] && empty[from[i]] && upstream_off(from[i])
	return off
}

# What A.9 tells to write, because it may come up undefined
function all_defined(name,	i, n, o, ok)
{
	ok = 1
	n = split(undefined[kind(name)], o, " ")
	for (i = 1; i <= n; i++)
		ok = ok && ((name, o[i]) in written)
	return ok
}

function forget(name,	i, n, o)
{
	n = split(undefined[kind(name)], o, " ")
	for (i = 1; i <= n; i++)
		delete written[name, o[i]]
	aim[name] = ""
}

function leads(name, sink,	i)
{
	for (i = 0; i < links; i++)
		if (from[i] == name && (to[i] == sink || leads(to[i], sink)))
			return 1
	return 0
}

# A sink that is disabled while its encoder is on gets another window: Control of the encoder is not
# written until the sink is enabled again.
function not_switched(name,	sink)
{
	for (sink in switching)
		if (leads(name, sink)) {
			check("R13", 0)
			delete switching[sink]
		}
}

# Control is written
function control(name, value,	on)
{
	on = bits(value, 1, 1)
	check("R10", !beyond(value, fields[kind(name) " 000"]))
	if (!(name in seen))
		check("R4", value == 0)
	else if (value == 1 && last[name] == 0)
		check("R4", was_inactive[name])
	if (value == 0) {
		forget(name)
		was_inactive[name] = 0
	}
	if (kind(name) == "encoder") {
		check("R21", !bits(value, 12, 1))
		if (bits(value, 2, 1))
			check("R12", enabled[name] || !on)
		if (on) {
			check("R18", bits(value, 24, 3) == 1)
			if (!bits(value, 15, 1))
				check("R26", unambiguous(name))
		}
	}
	if (on && !bits(last[name], 1, 1)) {
		check("R9", all_defined(name))
		check("R11", downstream_on(name))
		if (kind(name) == "sink") {
			check("R46", aim[name] ~ /S.*L.*s.*l/)
			check("R49", aim[name] ~ /W/ && !bits(wp[name], 0, 1))
		}
		if (kind(name) == "funnel")
			check("R44", dis_input[name] != number("ffff"))
		aim[name] = ""
	}
	if (kind(name) == "encoder")
		not_switched(name)
	if (kind(name) == "sink" && strict) {
		if (on != bits(last[name], 1, 1) && (on ? name in switching : upstream_off(name)))
			check("R13", 1)
		if (on)
			delete switching[name]
		else if (bits(last[name], 1, 1) && !upstream_off(name))
			switching[name] = 1
	}
	last[name] = value
	seen[name] = 1
}

# Its source ID is that of no other that is on, and as wide as theirs
function unambiguous(name,	other, ok)
{
	ok = 1
	for (other in features)
		if (other != name && bits(last[other], 1, 1))
			ok = ok && bits(features[other], 28, 4) == bits(features[name], 28, 4) &&
				bits(features[other], 16, 12) != bits(features[name], 16, 12)
	return ok && bits(features[name], 16, 12) < 2 ^ bits(features[name], 28, 4)
}

function write_encoder(name, offset, value,	filter)
{
	check("R12", !bits(last[name], 1, 1))
	if (offset == "008") {
		check("R30", (bits(value, 3, 1) != 0) == (bits(value, 6, 2) != 0))
		features[name] = value
	}
	if (offset ~ /^05[048]$/)
		check("R22", value == 0)
	# filter i: Control at 400 + 20 * i, what to match behind it
	if (offset ~ /^[45][02468ace]4$/)
		matched[name, substr(offset, 1, 2)] = 1
	if (offset ~ /^[45][02468ace]0$/) {
		filter = name SUBSEP substr(offset, 1, 2)
		if (bits(value, 1, 1))
			check("R35", filter in matched)
		if (!bits(value, 0, 1))
			delete matched[filter]
	}
}

function write_sink(name, offset, value)
{
	check("R51", !enabled[name] && empty[name])
	check("R45", (name, "000") in written)
	if (offset == "010")
		aim[name] = aim[name] "S"
	if (offset == "018")
		aim[name] = aim[name] "L"
	if (offset == "020") {
		aim[name] = aim[name] "W"
		wp[name] = value
	}
}

BEGIN {
	links = 0
	fields["encoder 000"] = "0 3 4 3 9 1 11 1 12 1 13 1 15 3 20 4 24 3"
	fields["funnel 000"] = "0 2"
	fields["sink 000"] = "0 2 4 1 8 1 9 2"
	fields["bridge 000"] = "0 2 8 7"
	undefined["encoder"] = "008 00c 010 01c 050 054 058 040"
	undefined["funnel"] = "008 040"
}

FILENAME == "-" {
	if ($1 == "link") {
		from[links] = $2
		to[links++] = $3
	}
	next
}

{
	name = $1
	value = number($4)
	lines++
	check("R1", $3 ~ /^[0-9a-f][0-9a-f][048c]$/)
	if ($3 != "000")
		check("R2", active[name])
}

$2 == "read" && $3 == "000" {
	active[name] = bits(value, 0, 1)
	enabled[name] = bits(value, 1, 1)
	empty[name] = bits(value, 3, 1)
	was_inactive[name] = was_inactive[name] || !active[name]
}

$2 == "read" && kind(name) == "sink" {
	if ($3 == "010")
		aim[name] = aim[name] "s"
	if ($3 == "018")
		aim[name] = aim[name] "l"
}

$2 == "read" && $3 == "004" && !(name in identified) {
	identified[name] = 1
	check("R6", $0 != "" && accessed[name] ~ /^(000 )*$/)
}

$2 == "write" && $3 != "000" {
	if (kind(name) == "encoder")
		write_encoder(name, $3, value)
	if (kind(name) == "sink")
		write_sink(name, $3, value)
	if (kind(name) == "funnel" && $3 == "008")
		dis_input[name] = value
}

$2 == "write" {
	written[name, $3] = 1
	if ($3 == "000")
		control(name, value)
}

!(name in identified) { accessed[name] = accessed[name] $3 " " }

END {
	for (name in switching)
		check("R13", 0)
	for (name in seen)
		check("R14", !bits(last[name], 1, 1))
	for (r in checks)
		print r, checks[r], failures[r] + 0, first[r]
}
