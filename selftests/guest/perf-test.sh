#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What perf test has for ntrace: the tables of the decoder, and the script that records, decodes
# and compares on this machine. Each of its parts is a test here.

. "$(dirname "$0")/lib"
out=/tmp/perf-test.out
# not those of another perf, which may be where this is started
cd /tmp || exit 1

perf test -vv 'RISC-V N-Trace' >$out 2>&1 </dev/null
awk '
	function result(good, what) {
		n++
		print (good ? "" : "not ") "ok " n " - " what
		failed += !good
	}
	/^--- Test .* ---$/ {
		name = substr($0, 10, length($0) - 13)
		said = ""
		next
	}
	name != "" && /^(OK|SKIP|FAILED)$/ {
		result(!/FAILED/, name (/SKIP/ ? " # SKIP" said : ""))
		if (/FAILED/)
			print said
		name = ""
	}
	name != "" { said = said (said == "" ? "" : "\n") "# " $0 }
	/^ *[0-9.]+: .* : (Ok|Skip.*|FAILED!)$/ {
		ok = / Ok$/
		gsub(/^ *[0-9.]+: | *: [^:]*$/, "")
		result(ok, $0)
		suites++
	}
	END {
		result(suites == 7, "perf test ran 6 tables and a script")
		print "1.." n
		exit failed > 0
	}' $out || { failed=1; tail -n 60 $out | cut -c1-150 | sed 's/^/# /'; }
rm -f $out
finish
