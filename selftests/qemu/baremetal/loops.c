// SPDX-License-Identifier: GPL-2.0-only
/*
 * A workload of embedded benchmarks' kind: sorts and searches a linked list, multiplies matrices,
 * runs a state machine over text, and checks it all with a CRC. REPEAT says how often.
 */

#include <stdint.h>
#include <stdio.h>

#ifndef REPEAT
#define REPEAT 110
#endif

#define NODES	80
#define SIDE	12
#define TEXT	480

struct node {
	struct node *next;
	int16_t key, value;
};

static struct node nodes[NODES];
static int16_t left[SIDE][SIDE], right[SIDE][SIDE];
static int32_t product[SIDE][SIDE];
static char text[TEXT + 1];
static uint32_t seed;

static unsigned int next_random(void)
{
	seed = seed * 1103515245 + 12345;
	return seed >> 16 & 0x7fff;
}

/* Not inlined: a CRC over two bytes is what such benchmarks call all the time */
static __attribute__((noinline)) uint16_t crc_byte(uint8_t byte, uint16_t crc)
{
	int i;

	for (i = 0; i < 8; i++) {
		int carry = (byte ^ crc) & 1;

		byte >>= 1;
		crc >>= 1;
		if (carry)
			crc ^= 0xa001;
	}
	return crc;
}

static __attribute__((noinline)) uint16_t crc_word(uint32_t word, uint16_t crc)
{
	crc = crc_byte(word & 0xff, crc);
	return crc_byte(word >> 8 & 0xff, crc);
}

/* ---- list */

static int by_key(const struct node *a, const struct node *b)
{
	return a->key - b->key;
}

static int by_value(const struct node *a, const struct node *b)
{
	return a->value - b->value;
}

static struct node *merge(struct node *a, struct node *b,
			  int (*compare)(const struct node *, const struct node *))
{
	struct node head, *tail = &head;

	while (a && b) {
		struct node **from = compare(a, b) <= 0 ? &a : &b;

		tail->next = *from;
		tail = *from;
		*from = tail->next;
	}
	tail->next = a ? a : b;
	return head.next;
}

static struct node *sort(struct node *list,
			 int (*compare)(const struct node *, const struct node *))
{
	struct node *slow = list, *fast = list;

	if (!list || !list->next)
		return list;
	while (fast->next && fast->next->next) {
		slow = slow->next;
		fast = fast->next->next;
	}
	fast = slow->next;
	slow->next = NULL;
	return merge(sort(list, compare), sort(fast, compare), compare);
}

static struct node *find(struct node *list, int16_t key)
{
	while (list && list->key != key)
		list = list->next;
	return list;
}

static uint16_t do_list(uint16_t crc)
{
	struct node *list;
	int i, found = 0;

	for (i = 0; i < NODES; i++) {
		nodes[i].next = i + 1 < NODES ? &nodes[i + 1] : NULL;
		nodes[i].key = i;
		nodes[i].value = next_random();
	}
	list = sort(nodes, by_value);
	for (i = 0; i < 16; i++)
		if (find(list, next_random() % (2 * NODES)))
			found++;
	for (list = sort(list, by_key); list; list = list->next)
		crc = crc_word(list->value, crc);
	return crc_word(found, crc);
}

/* ---- matrix */

static uint16_t do_matrix(uint16_t crc)
{
	int i, j, k, sum = 0;

	for (i = 0; i < SIDE; i++)
		for (j = 0; j < SIDE; j++) {
			left[i][j] = next_random();
			right[i][j] = next_random();
		}
	for (i = 0; i < SIDE; i++)
		for (j = 0; j < SIDE; j++) {
			int32_t total = 0;

			for (k = 0; k < SIDE; k++)
				total += left[i][k] * right[k][j];
			product[i][j] = total;
		}
	for (i = 0; i < SIDE; i++)
		for (j = 0; j < SIDE; j++)
			sum += product[i][j] > sum ? 10 : product[i][j] & 15;
	return crc_word(sum, crc);
}

/* ---- state machine */

enum state { START, SIGN, INTEGER, POINT, EXPONENT, INVALID, STATES };

static enum state step(enum state state, char c)
{
	int digit = c >= '0' && c <= '9';

	switch (state) {
	case START:
		if (c == '+' || c == '-')
			return SIGN;
		return digit ? INTEGER : c == '.' ? POINT : INVALID;
	case SIGN:
		return digit ? INTEGER : c == '.' ? POINT : INVALID;
	case INTEGER:
		return digit ? INTEGER : c == '.' ? POINT : c == 'e' ? EXPONENT : INVALID;
	case POINT:
		return digit ? POINT : c == 'e' ? EXPONENT : INVALID;
	case EXPONENT:
		return digit || c == '-' ? EXPONENT : INVALID;
	default:
		return INVALID;
	}
}

static uint16_t do_states(uint16_t crc)
{
	static const char letters[] = "0123456789012345.,+-e,x,";
	unsigned int counts[STATES] = { 0 };
	enum state state = START;
	int i;

	for (i = 0; i < TEXT; i++)
		text[i] = letters[next_random() % (sizeof(letters) - 1)];
	for (i = 0; i < TEXT; i++) {
		if (text[i] == ',') {
			counts[state]++;
			state = START;
		} else {
			state = step(state, text[i]);
		}
	}
	for (i = 0; i < STATES; i++)
		crc = crc_word(counts[i], crc);
	return crc;
}

int main(void)
{
	uint16_t crc = 0;
	int i;

	for (i = 0; i < REPEAT * 10; i++) {
		seed = i % 10;
		crc = do_list(crc);
		crc = do_matrix(crc);
		crc = do_states(crc);
	}
	printf("loops: sum %04x\n", crc);
	return 0;
}
