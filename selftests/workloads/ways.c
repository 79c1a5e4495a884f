// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each way that C has to branch and to loop, on one line and on several; functions that are called
 * often, once, and never. The same each time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *left, *right;
	int value;
};

static int never(int x)
{
	if (x > 3)
		return x;
	return -x;
}

static int one_line(int n)
{
	int sum = 0, i;

	for (i = 0; i < n; i++) sum += i;
	while (n > 3) n--;
	do { sum ^= n; } while (n-- > 0);
	return sum;
}

static int nested(int n)
{
	int found = 0;

	for (int i = 0; i < n; i++) {
		for (int j = 0; j < i; j++) {
			if ((i * j) % 7 == 3)
				continue;
			if (i + j == 37)
				break;
			found += i > j && (j & 1) ? 2 : 1;
		}
	}
	return found;
}

static const char *kind(int c)
{
	switch (c) {
	case 'a': case 'e': case 'i': case 'o': case 'u':
		return "vowel";
	case ' ':
		return "blank";
	default:
		if (c >= '0' && c <= '9')
			return "digit";
		return "other";
	case 200:
		return "never";
	}
}

static int dense(int x)
{
	switch (x) {
	case 0: return 5;
	case 1: return 7;
	case 2: x += 3; break;
	case 3: x *= 2;
		/* fallthrough */
	case 4: x -= 1; break;
	case 5: return 0;
	case 6: return 1;
	case 7: return 2;
	case 8: return 3;
	}
	return x;
}

static struct node *insert(struct node *tree, int value)
{
	if (!tree) {
		tree = calloc(1, sizeof(*tree));
		if (!tree)
			exit(1);
		tree->value = value;
	} else if (value < tree->value) {
		tree->left = insert(tree->left, value);
	} else if (value > tree->value) {
		tree->right = insert(tree->right, value);
	}
	return tree;
}

static int sum(const struct node *tree)
{
	return tree ? sum(tree->left) + tree->value + sum(tree->right) : 0;
}

static int two_lines(int x)
{
	return x * 3 +
	       sum(NULL);
}

static int jumps(int n)
{
	int tries = 0;

again:
	tries++;
	if (n % 3 == 0 || n % 5 == 0) {
		n++;
		goto again;
	}
	return tries;
}

static int by_name(const char *name)
{
	static const struct { const char *name; int (*of)(int); } list[] = {
		{ "jumps", jumps }, { "dense", dense }, { "never", never },
	};
	unsigned int i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (!strcmp(list[i].name, name))
			return list[i].of((int)strlen(name));
	return 0;
}

int main(int argc, char **argv)
{
	struct node *tree = NULL;
	unsigned int seed = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	const char *text = "the 7 quick brown foxes jump over 2 lazy dogs";
	int total = 0, i;

	total += one_line(20);
	total += nested(60);
	for (; *text; text++)
		total += (int)strlen(kind(*text));
	for (i = 0; i < 40; i++)
		total += dense(i % 11);
	for (i = 0; i < 500; i++) {
		seed = seed * 1103515245 + 12345;
		tree = insert(tree, (int)(seed >> 16 & 1023));
	}
	total += sum(tree) + two_lines(4);
	for (i = 1; i <= 30; i++)
		total += jumps(i);
	for (i = 0; i < 3; i++)
		total += by_name("jumps") +
			 by_name("dense") +
			 by_name("else") + total;
	if (total < 0)
		total = never(total);
	printf("%d\n",
	       total);
	return 0;
}
