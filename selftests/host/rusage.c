// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a command takes: rusage FILE COMMAND... runs it, and writes milliseconds of
 * processor time, KB of memory at most, and pages read or made, to FILE. Exits as
 * the command does.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage u;
	int status;
	pid_t pid;
	FILE *f;

	if (argc < 3)
		return 2;
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &u) != pid)
		return 2;
	f = fopen(argv[1], "w");
	if (!f)
		return 2;
	fprintf(f, "%ld %ld %ld\n",
		(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000L +
		(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000L,
		u.ru_maxrss, u.ru_minflt + u.ru_majflt);
	return fclose(f) || !WIFEXITED(status) ? 2 : WEXITSTATUS(status);
}
