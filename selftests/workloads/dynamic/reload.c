// SPDX-License-Identifier: GPL-2.0-only
/* Loads a library, unloads it, and loads another one where it was, again and again */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>

#include "../common.h"

static void *run(const char *dir, int way, unsigned long n)
{
	unsigned long (*work)(unsigned long n);
	char path[PATH_MAX];
	void *lib;

	snprintf(path, sizeof(path), "%s/plugin-%d.so", dir, way);
	lib = dlopen(path, RTLD_NOW);
	if (!lib)
		fail(dlerror());
	work = dlsym(lib, "work");
	expect(work && work(n), "the library's work");
	expect(!dlclose(lib), "dlclose");
	return work;
}

int main(int argc, char **argv)
{
	unsigned long n = scale(argc, argv);
	char exe[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const char *dir;
	void *place;

	expect(len > 0, "my own name");
	exe[len] = '\0';
	dir = dirname(exe);
	for (unsigned long i = 0; i < 10 * n; i++) {
		place = run(dir, 1, 5000);
		expect(run(dir, 2, 5000) == place, "the same place");
	}
	return done("reload");
}
