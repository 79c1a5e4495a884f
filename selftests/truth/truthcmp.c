// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares decoded control flow, as text on standard input, with the truth streams of the
 * harts, instruction by instruction or branch by branch, from the first to the last. It does
 * this in one pass, and does not keep a run in memory.
 *
 * Instruction list: it must have every INSN of the truth, in order. Boundaries of stretches
 * are not visible in the list.
 *
 * Branch list: it must have every taken transfer of the truth. The truth alone tells what is
 * taken: the pc went elsewhere, or there was a trap. perf shows an END and the BEGIN after it
 * as `tr end` and `tr strt`. Both may be missing if the two sides join (at the same pc, or
 * after an ECALL or EBREAK) and belong to one task. A system call from where trace ended to where
 * trace begins stands for both.
 *
 * Samples in a branch list: a sample is at the next instruction whose number is a multiple of
 * the period. Its call chain and branch stack must be equal to those that stacks.c computes.
 * With --allow-loss they may be shorter, because without trace the tasks on a hart are
 * unknown. But they must not have entries from before the last loss. The figure `whole' is the
 * percentage of samples with all entries.
 *
 * Loss: from a DROP to the next RESTART or BEGIN, the truth cannot be decoded. The same holds
 * for instructions before the DROP that the dropped message would have reported: the DROP has
 * their number. With --allow-loss each report of the decoder stands for the next DROP: all
 * instructions reported before that DROP must be decoded before the report. A DROP without a
 * report is a difference, and so is a report without a DROP. A report that the AUX buffer was
 * full stands for the END at which the driver stopped, and for the DROP before that END if
 * there is one. So does a report that the sink was full: if a window ends exactly with the
 * last message, the driver cannot tell it from one that was too small.
 *
 * Doubt: the decoder reports that the trace fits both copies of a patched kernel. From there
 * to the next decoded start nothing is compared. The start must be the target of a transfer.
 *
 * Owner: the kernel writes scontext before tp, so the decoder reports the next task while the
 * truth still has the previous one. Between the two instructions interrupts are off. The
 * decoder may be ahead only there (and back to the last indirect jump before, because one
 * message reports several instructions), and its task must be the next task of the truth. The
 * figure `ahead' is the longest such range. With --late-owner the encoder reports the task only
 * at the next sync, trap, or trap return: up to there the decoder may be behind.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lines.h"
#include "stacks.h"
#include "syms.h"
#include "truth.h"

#define CONTEXT		10	/* lines shown before and after a difference */
#define TEXT_MAX	200
#define HARTS		64
#define TASKS		4096	/* power of two */
/* Maximum number of instructions in a message: I-CNT has at most 22 bits */
#define TOLD_MAX	(1u << 22)
/* Upper limit of the events from a doubt to the start after it */
#define DOUBT_MAX	65536
#define CSR_SCONTEXT	0x5a8
#define ECALL_FROM_U	8	/* cause */

struct task {
	uint32_t tid;
	int cpu;		/* CPU where it was seen last, or -1 */
	struct stacks *stacks;	/* NULL until they are needed */
	uint64_t program;	/* page table of its last user space, 0 if unknown */
	struct truth_event last;	/* its last event when its trace ended */
	bool ended;		/* last is valid */
	bool ran;		/* the truth has instructions of it */
};

struct past_line {
	uint64_t number;
	char text[TEXT_MAX];
};

struct past_event {
	uint64_t index;
	struct truth_event ev;
};

struct hart {
	struct truth *truth;
	int cpu;
	bool segmented;		/* the stream has several recordings: compare one */
	/* position in the truth */
	uint32_t owner;
	bool owned;		/* owner is valid */
	struct task *task;
	struct task idle;	/* each hart has its own task 0 */
	uint64_t satp;
	bool dropping;		/* DROP taken, RESTART or BEGIN not yet */
	bool skipping;
	bool switching;		/* scontext was written, tp not yet */
	struct truth_event last;	/* the last INSN or TRAP taken */
	bool hidden;		/* no instruction or trap since the last BEGIN */
	uint64_t end_pc;	/* pc of the last END */
	bool ended;		/* END taken, BEGIN not yet */
	bool full_told;		/* a report for the END of this stretch was seen */
	/* position of the decoder */
	bool reported;		/* a loss was reported; its DROP is the next event */
	bool doubt;		/* reported: nothing is compared up to the next line */
	bool cut_off;		/* `tr end' where messages were dropped: a report must follow */
	int64_t ahead_tid;	/* next task that the decoder reports already, or -1 */
	uint64_t ahead_since;	/* number of the instruction where that began */
	int64_t behind_tid;	/* previous task that the decoder may still report, or -1 */
	bool wrong_task;	/* the next task of the truth was not ahead_tid */
	/* samples */
	uint64_t sampled;	/* number of the last sampled instruction */
	bool uncounted;		/* trace was lost: the number of instructions is unknown */
	/* figures */
	uint64_t delivered, skipped, branches, traps, regions, drops, losses, untold, ahead;
	uint64_t doubts;
	uint64_t truncated;	/* reports of a full AUX buffer */
	uint64_t sinks;		/* reports of a full sink */
	uint64_t full;		/* reports of both kinds without a DROP */
	/* context of a difference */
	struct past_line lines[CONTEXT];
	struct past_event events[CONTEXT];
	uint64_t nlines, nevents;
};

struct figure {
	char name[32];
	double value;
};

struct cmp {
	struct hart *harts[HARTS];
	unsigned int nharts;
	struct lines *lines;
	struct syms *syms;
	struct task tasks[TASKS];
	enum line_format format;
	bool branches;		/* the list has branches, not instructions */
	bool allow_loss, check_tid, check_types, late_owner;
	unsigned int chain, last;	/* maximum callers and branches of a sample */
	uint64_t period;	/* of samples, 0: there are none */
	struct sample sample;	/* current sample, with its lines so far */
	uint64_t samples, whole, deepest, ran;
	uint64_t window;	/* size in bytes, 0 if not given */
	const char *dump;
	uint64_t truncated;	/* AUX records of a full buffer */
	uint64_t partial;	/* AUX records with lost trace */
	uint64_t migrations, nlines;
	struct figure figures[64];
	unsigned int nfigures;
	const char *require;
};

/* ------------------------------------------------------ showing a difference */

static const char *event_name(const struct truth_event *ev)
{
	static const char *const names[] = {
		[TRUTH_INSN] = "", [TRUTH_BEGIN] = "BEGIN", [TRUTH_END] = "END",
		[TRUTH_OWNER] = "OWNER", [TRUTH_DROP] = "DROP", [TRUTH_RESTART] = "RESTART",
		[TRUTH_SEGMENT] = "SEGMENT", [TRUTH_TRAP] = "TRAP",
	};

	return names[ev->kind];
}

static void show_event(struct cmp *c, char mark, uint64_t index, const struct truth_event *ev)
{
	char name[128];

	printf("# %c %12llu  %16llx ", mark, (unsigned long long)index, (unsigned long long)ev->pc);
	if (ev->len)
		printf("%*s%0*x", 8 - 2 * ev->len, "", 2 * ev->len, ev->insn);
	else
		printf("        ");
	printf(" %s", event_name(ev));
	if (ev->kind == TRUTH_TRAP)
		printf(" cause %llx", (unsigned long long)ev->value);
	else if (ev->kind == TRUTH_BEGIN || ev->kind == TRUTH_OWNER)
		printf(" tid %u", ev->tid);
	else if (ev->kind == TRUTH_SEGMENT)
		printf(" %llu", (unsigned long long)ev->value);
	if (ev->next != ev->pc + ev->len)
		printf(" -> %llx", (unsigned long long)ev->next);
	printf(" %s\n", syms_name(c->syms, ev->pc, name, sizeof(name)));
}

static void show_truth(struct cmp *c, struct hart *h)
{
	uint64_t from = h->nevents > CONTEXT ? h->nevents - CONTEXT : 0;
	uint64_t index = h->delivered + h->skipped;

	printf("# truth, cpu %d (%s):\n", h->cpu, truth_name(h->truth));
	for (uint64_t i = from; i < h->nevents; i++)
		show_event(c, ' ', h->events[i % CONTEXT].index, &h->events[i % CONTEXT].ev);
	for (unsigned int i = 0; i <= CONTEXT; i++) {
		const struct truth_event *ev = truth_peek(h->truth, i);

		if (!ev) {
			printf("# %c end of the truth\n", i ? ' ' : '>');
			break;
		}
		show_event(c, i ? ' ' : '>', index, ev);
		index += ev->kind == TRUTH_INSN;
	}
}

static struct hart *hart_of(struct cmp *c, const struct line *line);

static uint64_t delivered(const struct cmp *c)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < c->nharts; i++)
		sum += c->harts[i]->delivered;
	return sum;
}

static void show_decoded(struct cmp *c, struct hart *h, const struct line *line)
{
	uint64_t from = h->nlines > CONTEXT ? h->nlines - CONTEXT : 0;
	struct line next;

	printf("# decoded, cpu %d:\n", h->cpu);
	for (uint64_t i = from; i < h->nlines; i++)
		printf("#   %12llu %s\n", (unsigned long long)h->lines[i % CONTEXT].number,
		       h->lines[i % CONTEXT].text);
	if (!line) {
		printf("# > end of the decoded input\n");
		return;
	}
	printf("# > %12llu %.*s\n", (unsigned long long)line->number, (int)line->len, line->text);
	for (unsigned int i = 0; i < CONTEXT && lines_next(c->lines, &next);) {
		if (hart_of(c, &next) != h)
			continue;
		printf("#   %12llu %.*s\n", (unsigned long long)next.number, (int)next.len,
		       next.text);
		i++;
	}
}

/* Report the first difference and exit: any further ones would only be consequences. */
static void __attribute__((noreturn))
differ(struct cmp *c, struct hart *h, const struct line *line, const char *why)
{
	char name[128];
	const struct truth_event *ev = truth_peek(h->truth, 0);

	printf("different cpu=%d index=%llu line=%llu tid=%u insns=%llu: %s", h->cpu,
	       (unsigned long long)(h->delivered + h->skipped),
	       (unsigned long long)(line ? line->number : 0), h->owner,
	       (unsigned long long)delivered(c), why);
	if (ev && syms_name(c->syms, ev->pc, name, sizeof(name))[0])
		printf(", truth in %s", name);
	if (h->dropping)
		printf(", trace was dropped before");
	putchar('\n');
	show_truth(c, h);
	show_decoded(c, h, line);
	fflush(stdout);
	exit(1);
}

static void remember_line(struct hart *h, const struct line *line)
{
	struct past_line *p = &h->lines[h->nlines++ % CONTEXT];
	size_t n = line->len < TEXT_MAX ? line->len : TEXT_MAX - 1;

	p->number = line->number;
	memcpy(p->text, line->text, n);
	p->text[n] = 0;
}

/* ---------------------------------------------------------------- the truth */

static struct task *task_of(struct cmp *c, uint32_t tid)
{
	uint32_t i = tid * 2654435761u;

	if (!tid)
		return NULL;
	for (unsigned int n = 0; n < TASKS; n++) {
		struct task *task = &c->tasks[i++ & (TASKS - 1)];

		if (task->tid == tid)
			return task;
		if (!task->tid) {
			*task = (struct task) { .tid = tid, .cpu = -1 };
			return task;
		}
	}
	die("more than %d tasks", TASKS);
}

/* The task, with its call chain and branch stack; NULL if samples are not compared */
static struct task *stacked(struct cmp *c, struct hart *h, int32_t tid)
{
	struct task *task;

	if (!c->period || tid < 0)
		return NULL;
	task = tid ? task_of(c, (uint32_t)tid) : &h->idle;
	if (!task->stacks)
		task->stacks = stacks_new();
	return task;
}

#define PAGE_TABLE	((1ull << 44) - 1)

/* A task returns to user space. If its page table has changed, it runs another program. */
static void enter_user(struct task *task, uint64_t satp)
{
	uint64_t program = satp & PAGE_TABLE;

	if (task->program && task->program != program)
		stacks_forget(task->stacks);
	task->program = program;
}

/* A context switch has ended: the task that the decoder reported must be the current one. */
static void end_switch(struct hart *h)
{
	uint64_t tail = h->delivered + h->skipped - h->ahead_since;

	h->switching = false;
	if (h->ahead_tid < 0)
		return;
	if (h->ahead_tid != h->owner)
		h->wrong_task = true;
	if (tail > h->ahead)
		h->ahead = tail;
	h->ahead_tid = -1;
}

static void set_owner(struct cmp *c, struct hart *h, uint32_t tid)
{
	if (c->late_owner && h->behind_tid < 0)
		h->behind_tid = h->owner;
	h->owned = true;
	h->owner = tid;
	h->task = task_of(c, tid);
	end_switch(h);
}

static bool writes_scontext(const struct truth_event *ev)
{
	return ev->kind == TRUTH_INSN && ev->len == 4 && (ev->insn & 0x7f) == 0x73 &&
	       ev->insn >> 12 & 3 && ev->insn >> 20 == CSR_SCONTEXT;
}

/* Interrupts are off in a context switch, so a trap or a trap return ends it. */
static void note_switch(struct hart *h, const struct truth_event *ev)
{
	if (writes_scontext(ev))
		h->switching = true;
	else if (h->switching && (ev->kind == TRUTH_TRAP || truth_xfer(ev) == X_ERET))
		end_switch(h);
}

/* Does a loss begin here? A DROP without a count continues a loss in another stretch. */
static bool is_drop(const struct truth_event *ev)
{
	return ev->kind == TRUTH_DROP && ev->value != UINT64_MAX;
}

/* Is the beginning of a stretch dropped, too? */
static bool begins_dropped(struct truth *t, size_t next)
{
	const struct truth_event *ev = truth_peek(t, next);

	return ev && ev->kind == TRUTH_DROP;
}

/* A RESTART or BEGIN ends a DROP. */
static void end_drop(struct hart *h)
{
	if (!begins_dropped(h->truth, 0))
		h->dropping = false;
}

static void apply(struct cmp *c, struct hart *h, const struct truth_event *ev)
{
	switch (ev->kind) {
	case TRUTH_INSN:
		*(h->skipping ? &h->skipped : &h->delivered) += 1;
		if (h->task && !h->task->ran) {
			h->task->ran = true;
			c->ran++;
		}
		h->last = *ev;
		h->hidden = false;
		note_switch(h, ev);
		if (truth_xfer(ev) == X_ERET)
			h->behind_tid = -1;
		break;
	case TRUTH_TRAP:
		h->behind_tid = -1;
		h->traps += !h->skipping;
		h->last = *ev;
		h->hidden = false;
		note_switch(h, ev);
		break;
	case TRUTH_END:
		h->end_pc = ev->pc;
		h->ended = true;
		if (h->task && !h->hidden) {
			h->task->last = h->last;
			h->task->ended = true;
		}
		break;
	case TRUTH_BEGIN:
		/* if trace resumes elsewhere, there was a trap in code that is not traced */
		h->traps += h->regions && !h->skipping && ev->pc != h->end_pc;
		h->regions++;
		h->hidden = true;
		h->ended = h->full_told = false;
		end_drop(h);
		/*
		 * if the pc is the same, it may be the firmware that interrupted a context switch
		 */
		if (!h->owned || ev->tid != h->owner || ev->pc != h->end_pc)
			set_owner(c, h, ev->tid);
		/* the encoder reports the task where trace begins, too */
		h->behind_tid = -1;
		h->satp = ev->value;
		break;
	case TRUTH_OWNER:
		h->satp = ev->value;
		/* the address space may change before the task does */
		if (ev->tid != h->owner)
			set_owner(c, h, ev->tid);
		break;
	case TRUTH_DROP:
		h->drops += is_drop(ev);
		h->dropping = true;
		h->reported = false;
		break;
	case TRUTH_RESTART:
		end_drop(h);
		break;
	}
}

/* Take the next event of the truth. */
static void take(struct cmp *c, struct hart *h, const struct line *line)
{
	struct past_event *p = &h->events[h->nevents % CONTEXT];

	if (is_drop(truth_peek(h->truth, 0)) && !h->reported)
		differ(c, h, line, "trace is lost here, and the decoder did not report it");
	h->nevents++;
	p->ev = *truth_peek(h->truth, 0);
	p->index = h->delivered + h->skipped;
	truth_pop(h->truth);
	apply(c, h, &p->ev);
}

/* The next event of this recording, NULL at its end */
static const struct truth_event *next_event(struct hart *h)
{
	const struct truth_event *ev = truth_peek(h->truth, 0);

	return ev && ev->kind == TRUTH_SEGMENT && h->segmented ? NULL : ev;
}

/* ---------------------------------------------------------------- transfers */

static bool is_transfer(const struct truth_event *ev)
{
	enum xfer x;

	if (ev->kind == TRUTH_TRAP)
		return true;
	if (ev->kind != TRUTH_INSN)
		return false;
	if (ev->next != ev->pc + ev->len)
		return true;
	x = truth_xfer(ev);	/* a jump to the next instruction is a transfer, too */
	return x != X_NONE && x != X_COND && x != X_EXCEPTION;
}

/* Must the list have a line for this event? */
static bool is_required(const struct cmp *c, const struct truth_event *ev)
{
	return c->branches ? is_transfer(ev) : ev->kind == TRUTH_INSN;
}

/* ------------------------------------------------------------------- losses */

/* Find the next DROP, and count the instructions before it */
static const struct truth_event *find_drop(struct hart *h, uint64_t *insns)
{
	const struct truth_event *ev;

	*insns = 0;
	for (size_t i = 0; *insns <= TOLD_MAX && (ev = truth_peek(h->truth, i)); i++) {
		if (ev->kind == TRUTH_SEGMENT && h->segmented)
			break;
		if (is_drop(ev))
			return ev;
		*insns += ev->kind == TRUTH_INSN;
	}
	return NULL;
}

/* Instructions that messages report before the next DROP must have been decoded. */
static void pass_told(struct cmp *c, struct hart *h, const struct line *line)
{
	uint64_t insns, told;
	const struct truth_event *ev = find_drop(h, &insns);

	if (!ev)
		differ(c, h, line, "the decoder reports an error where nothing was lost");
	told = insns > ev->value ? insns - ev->value : 0;
	while (told) {
		ev = next_event(h);
		told -= ev->kind == TRUTH_INSN;
		if (is_required(c, ev))
			differ(c, h, line, "the decoder lost more than was dropped");
		take(c, h, line);
	}
}

/* A loss was reported: take events up to and including the next DROP */
static void pass_drop(struct cmp *c, struct hart *h, const struct line *line)
{
	const struct truth_event *ev;
	uint64_t before;

	h->skipping = true;
	while (h->dropping && (ev = next_event(h)) && !is_drop(ev))
		take(c, h, line);
	h->skipping = false;
	if (!h->dropping)
		pass_told(c, h, line);
	h->skipping = true;
	before = h->skipped;
	while ((ev = next_event(h)) && !is_drop(ev))
		take(c, h, line);
	if (!ev)
		differ(c, h, line, "the decoder reports an error where nothing was lost");
	if (h->skipped - before > h->untold)
		h->untold = h->skipped - before;
	h->reported = true;
	take(c, h, line);
	h->skipping = false;
}

/* The next event begins a stretch. Is `pc` the first address that a decoder reports of it? */
static bool starts_at(const struct cmp *c, struct hart *h, uint64_t pc)
{
	const struct truth_event *ev = truth_peek(h->truth, 0);

	/* a list of instructions does not show a trap at the beginning */
	for (size_t i = 1; ev && !c->branches && ev->kind != TRUTH_INSN; i++) {
		ev = truth_peek(h->truth, i);
		if (ev && ev->kind == TRUTH_DROP)
			return false;
	}
	return ev && ev->pc == pc;
}

/* The list continues after a loss, at pc if that is known: the trace must restart there. */
static void restart(struct cmp *c, struct hart *h, const struct line *line, const uint64_t *pc)
{
	const struct truth_event *ev;

	h->skipping = true;
	while (h->dropping) {
		ev = next_event(h);
		if (!ev)
			differ(c, h, line, "decoded after a loss, but the truth does not go on");
		if ((ev->kind == TRUTH_RESTART || ev->kind == TRUTH_BEGIN) &&
		    !begins_dropped(h->truth, 1) && pc && !starts_at(c, h, *pc))
			differ(c, h, line, "decoding resumed where trace did not restart");
		take(c, h, line);
	}
	h->skipping = false;
}

/* After a loss the stacks of this task, and of tasks that last ran on this hart, are unknown. */
static void forget(struct cmp *c, struct hart *h, int32_t tid)
{
	struct task *task = stacked(c, h, tid);

	if (task)
		stacks_forget(task->stacks);
	for (unsigned int i = 0; c->period && i < TASKS; i++)
		if (c->tasks[i].stacks && c->tasks[i].cpu == h->cpu)
			stacks_forget(c->tasks[i].stacks);
}

/*
 * The driver stopped because the AUX buffer was full: the truth must have an END here, or a DROP
 * before that END.
 */
static void on_full(struct cmp *c, struct hart *h, const struct line *line)
{
	const struct truth_event *ev = truth_peek(h->truth, 0);

	/* A start in a full buffer is reported again. fits_dump() checks how often. */
	if (h->full_told && !c->dump)
		differ(c, h, line, "the decoder reports one stop twice");
	h->truncated++;
	for (size_t i = 1; !h->ended && ev && ev->kind != TRUTH_END; i++) {
		if (is_drop(ev)) {
			pass_drop(c, h, line);
			h->full_told = true;
			return;
		}
		if (!h->dropping && is_required(c, ev))
			differ(c, h, line, "the decoder reports a stop where trace went on");
		ev = truth_peek(h->truth, i);
	}
	h->full++;
	h->full_told = true;
}

/*
 * Did trace stop here, without a message that the sink dropped? If a dropped message would have
 * reported all instructions up to the next DROP, the report is for that DROP, even if trace stopped
 * and began again in between.
 */
static bool stops_here(const struct cmp *c, struct hart *h)
{
	const struct truth_event *ev;
	uint64_t insns;

	ev = find_drop(h, &insns);
	if (ev && insns <= ev->value)
		return false;
	ev = truth_peek(h->truth, 0);
	for (size_t i = 1; !h->ended && ev && ev->kind != TRUTH_END; i++) {
		if (is_required(c, ev))
			return false;
		ev = truth_peek(h->truth, i);
	}
	return h->ended || ev;
}

static void on_sink_full(struct cmp *c, struct hart *h, const struct line *line)
{
	h->sinks++;
	if (h->dropping || (h->full_told && !c->dump) || !stops_here(c, h)) {
		pass_drop(c, h, line);
		return;
	}
	h->full_told = true;
	h->full++;
}

static void on_loss(struct cmp *c, struct hart *h, const struct line *line)
{
	h->losses++;
	h->uncounted = true;
	h->cut_off = false;
	forget(c, h, line->tid);
	if (!c->allow_loss)
		differ(c, h, line, "the decoder reports an error");
	if (line->kind == LINE_FULL)
		on_full(c, h, line);
	else if (line->kind == LINE_SINK)
		on_sink_full(c, h, line);
	else
		pass_drop(c, h, line);
}

/* The decoder reports a doubt where two paths part, and continues where they meet. */
static void on_doubt(struct cmp *c, struct hart *h, const struct line *line)
{
	if (h->doubt)
		differ(c, h, line, "the decoder reports one doubt twice");
	h->doubt = true;
	h->doubts++;
	h->uncounted = true;
	forget(c, h, line->tid);
}

/* Skip to @pc after a doubt. True: after a transfer to it; false: at a BEGIN, or no doubt */
static bool pass_doubt(struct cmp *c, struct hart *h, const struct line *line, uint64_t pc)
{
	const struct truth_event *ev;
	unsigned int n = 0;
	bool transfer;

	if (!h->doubt)
		return false;
	h->doubt = false;
	h->skipping = true;
	do {
		ev = next_event(h);
		if (!ev || n++ == DOUBT_MAX)
			differ(c, h, line, "decoded after a doubt, but nothing leads there");
		if (ev->kind == TRUTH_BEGIN && ev->pc == pc) {
			h->skipping = false;
			return false;
		}
		transfer = is_transfer(ev);
		take(c, h, line);
	} while (!transfer || h->last.next != pc);
	h->skipping = false;
	return true;
}

/* Called before each line that is not a report */
static void check_cut_off(struct cmp *c, struct hart *h, const struct line *line)
{
	if (h->cut_off)
		differ(c, h, line, "trace was lost before this, and the decoder did not report it");
}

/* -------------------------------------------------------------------- tasks */

/*
 * Is the hart in a context switch, or will the next message report one? Traps, and jumps whose
 * target only the trace tells, cause a message.
 */
static bool is_switching(struct hart *h)
{
	const struct truth_event *ev;

	if (h->switching)
		return true;
	for (size_t i = 0; (ev = truth_peek(h->truth, i)) && ev->kind == TRUTH_INSN; i++) {
		enum xfer x = truth_xfer(ev);

		if (writes_scontext(ev))
			return true;
		if (x == X_IJUMP || x == X_ICALL || x == X_SWAP || x == X_ERET)
			return false;
	}
	return false;
}

static void check_tid(struct cmp *c, struct hart *h, const struct line *line, uint64_t pc)
{
	if (!c->check_tid)
		return;
	if (h->wrong_task)
		differ(c, h, line, "before this, decoded for a task that was not next");
	/* A sync message may report the task before the next trap does. Then it is known. */
	if (line->tid == (int64_t)h->owner && line->tid != h->behind_tid)
		h->behind_tid = -1;
	if (line->tid == (h->ahead_tid >= 0 ? h->ahead_tid : (int64_t)h->owner) ||
	    (h->behind_tid >= 0 && line->tid == h->behind_tid))
		return;
	if (line->tid < 0 || h->ahead_tid >= 0 || !(pc >> 63) || !is_switching(h))
		differ(c, h, line, "another task's");
	h->ahead_tid = line->tid;
	h->ahead_since = h->delivered + h->skipped;
}

/* Is there a DROP in the rest of the stretch that this hart is in? */
static bool is_cut_off(struct hart *h)
{
	const struct truth_event *ev;

	for (size_t i = 0; !h->dropping && (ev = truth_peek(h->truth, i)); i++)
		if (ev->kind == TRUTH_DROP || ev->kind == TRUTH_BEGIN || ev->kind == TRUTH_SEGMENT)
			return ev->kind == TRUTH_DROP;
	return h->dropping;
}

/*
 * A task has moved to this hart. Its last trace on the previous hart may be lost, reported later.
 */
static void note_migration(struct cmp *c, struct hart *h)
{
	struct task *task = h->task;

	if (!task || task->cpu == h->cpu)
		return;
	c->migrations += task->cpu >= 0;
	for (unsigned int i = 0; i < c->nharts && task->stacks; i++)
		if (c->harts[i]->cpu == task->cpu && is_cut_off(c->harts[i]))
			stacks_forget(task->stacks);
	task->cpu = h->cpu;
}

/* ------------------------------------------------------- instruction by instruction */

/* Take all marks before the next instruction. */
static const struct truth_event *next_insn(struct cmp *c, struct hart *h, const struct line *line)
{
	const struct truth_event *ev;

	while ((ev = next_event(h)) && ev->kind != TRUTH_INSN)
		take(c, h, line);
	return ev;
}

static void on_insn(struct cmp *c, struct hart *h, const struct line *line)
{
	const struct truth_event *ev;

	pass_doubt(c, h, line, line->from);
	restart(c, h, line, &line->from);
	ev = next_insn(c, h, line);
	if (!ev)
		differ(c, h, line, "decoded more than ran");
	if (ev->pc != line->from)
		differ(c, h, line, "another instruction");
	check_tid(c, h, line, ev->pc);
	note_migration(c, h);
	take(c, h, line);
}

/* ------------------------------------------------------------- branch by branch */

/* Does trace begin where it ended, or after an ECALL or EBREAK at which it ended? */
static bool is_behind(const struct truth_event *last, const struct truth_event *begin)
{
	if (begin->pc == last->next)
		return true;
	if (last->kind != TRUTH_TRAP)
		return false;
	if (begin->pc == last->pc)
		return true;
	return last->value >= 3 && last->value <= 11 && begin->pc - last->pc <= 4;
}

static bool is_joined(const struct hart *h, const struct truth_event *begin)
{
	return is_behind(&h->last, begin);
}

/* Does another task resume where the last one stopped (in the same loop)? */
static bool is_of_another(const struct cmp *c, const struct hart *h,
			  const struct truth_event *begin)
{
	return c->check_tid && !c->late_owner && !(begin->pc >> 63) && h->owned &&
	       begin->tid != h->owner;
}

/*
 * Does trace begin and end without any retired instruction? The encoder reports nothing then. This
 * happens when a system call that a signal interrupted is restarted.
 */
static bool is_empty(struct hart *h)
{
	const struct truth_event *end = truth_peek(h->truth, 1);

	return end && end->kind == TRUTH_END;
}

/* Take an event that the list does not show, if the list may omit it. */
static void pass(struct cmp *c, struct hart *h, const struct line *line,
		 const struct truth_event *ev)
{
	if (is_required(c, ev))
		differ(c, h, line, "a branch is missing");
	if (c->format == FORMAT_PERF && ev->kind == TRUTH_BEGIN && h->regions && !h->dropping &&
	    !h->hidden && (!is_joined(h, ev) || is_of_another(c, h, ev)) && !is_empty(h))
		differ(c, h, line, "trace was interrupted here, and the list does not show it");
	take(c, h, line);
}

static bool same_branch(const struct truth_event *ev, const struct line *line)
{
	if (ev->kind != TRUTH_INSN && ev->kind != TRUTH_TRAP)
		return false;
	if (ev->pc != line->from || ev->next != line->to)
		return false;
	/* the truth cannot tell whether a branch to the next instruction was taken */
	return is_transfer(ev) || truth_xfer(ev) == X_COND;
}

static void check_type(struct cmp *c, struct hart *h, const struct line *line,
		       const struct truth_event *ev)
{
	if (!c->check_types)
		return;
	if (!line->types)
		differ(c, h, line, "a branch whose type is not told, or no type that there is");
	if (!(line->types >> truth_xfer(ev) & 1))
		differ(c, h, line, "another type of branch");
	if (truth_xfer(ev) == X_EXCEPTION && line->syscall >= 0 &&
	    line->syscall != (ev->kind == TRUTH_TRAP && ev->value == ECALL_FROM_U))
		differ(c, h, line, "a system call, or none");
}

static void stack_branch(struct cmp *c, struct hart *h, int32_t tid, const struct truth_event *ev)
{
	struct task *task = stacked(c, h, tid);

	if (!task)
		return;
	if (truth_xfer(ev) == X_ERET && !(ev->next >> 63))
		enter_user(task, h->satp);
	stacks_branch(task->stacks, ev);
}

/* The list shows the BEGIN that was just taken. */
static void stack_begin(struct cmp *c, struct hart *h, int32_t tid, const struct truth_event *begin)
{
	struct task *task = stacked(c, h, tid);

	if (!task)
		return;
	if (!(begin->pc >> 63))
		enter_user(task, h->satp);
	stacks_begin(task->stacks, begin->pc, task->ended && is_behind(&task->last, begin));
}

/* The same after a loss */
static void stack_resync(struct cmp *c, struct hart *h, const struct line *line)
{
	struct truth_event begin = { .kind = TRUTH_BEGIN, .pc = line->to };

	note_migration(c, h);
	stack_begin(c, h, line->tid, &begin);
}

/*
 * A system call where trace ended: the ECALL does not retire, so nothing did between the END and
 * the BEGIN. An encoder may report a trap instead of a pause.
 */
static bool is_call_at_end(struct hart *h, const struct line *line, struct truth_event *call)
{
	const struct truth_event *end = truth_peek(h->truth, 0);
	const struct truth_event *begin = truth_peek(h->truth, 1);

	if (line->syscall <= 0 || !end || end->kind != TRUTH_END || end->pc != line->from ||
	    !begin || begin->kind != TRUTH_BEGIN || begin->pc != line->to)
		return false;
	*call = (struct truth_event){ .kind = TRUTH_TRAP, .pc = end->pc, .next = begin->pc,
				      .value = ECALL_FROM_U };
	return true;
}

/* The list shows the BEGIN as the target of a system call. */
static void on_call_at_end(struct cmp *c, struct hart *h, const struct line *line,
			   const struct truth_event *call)
{
	take(c, h, line);
	take(c, h, line);
	check_tid(c, h, line, call->next);
	note_migration(c, h);
	h->branches++;
	stack_branch(c, h, line->tid, call);
}

static void on_branch(struct cmp *c, struct hart *h, const struct line *line)
{
	const struct truth_event *ev;
	struct truth_event call;

	restart(c, h, line, NULL);
	for (;;) {
		ev = next_event(h);
		if (ev && same_branch(ev, line))
			break;
		if (ev && is_call_at_end(h, line, &call)) {
			on_call_at_end(c, h, line, &call);
			return;
		}
		if (!ev)
			differ(c, h, line, "decoded more than ran");
		pass(c, h, line, ev);
	}
	check_type(c, h, line, ev);
	check_tid(c, h, line, ev->pc);
	note_migration(c, h);
	h->branches++;
	stack_branch(c, h, line->tid, ev);
	take(c, h, line);
}

/* Did trace pause here and resume so that the list need not show it? */
static bool is_pause(struct hart *h)
{
	const struct truth_event *begin = truth_peek(h->truth, 1);

	return begin && begin->kind == TRUTH_BEGIN && is_joined(h, begin);
}

/* A transfer to code that is not traced: the trace does not report its target */
static bool is_leaving(struct hart *h, const struct truth_event *ev, const struct line *line)
{
	const struct truth_event *end = truth_peek(h->truth, 1);

	return ev->kind == TRUTH_INSN && ev->pc == line->from &&
	       line->types >> truth_xfer(ev) & 1 && end && end->kind == TRUTH_END;
}

/* `tr end`: its address is that of the last instruction, of the next one, or of the trap. */
static void on_stop(struct cmp *c, struct hart *h, const struct line *line)
{
	const struct truth_event *ev;
	struct task *task;
	bool checked = false;

	for (;;) {
		ev = next_event(h);
		if (!ev)
			differ(c, h, line, "decoded an end that is not there");
		if (ev->kind == TRUTH_END && (line->from == ev->pc || line->from == h->last.pc))
			break;
		if (is_leaving(h, ev, line)) {
			/* a trap return reports the next task at the earliest */
			check_tid(c, h, line, line->from);
			take(c, h, line);
			checked = true;
			break;
		}
		if (ev->kind == TRUTH_END && !is_pause(h))
			differ(c, h, line, "trace ended elsewhere");
		/* the end of a window, before the report of its loss */
		if (c->allow_loss && (is_required(c, ev) || ev->kind == TRUTH_DROP)) {
			h->cut_off = true;
			return;
		}
		pass(c, h, line, ev);
	}
	if (!checked)
		check_tid(c, h, line, line->from);
	task = stacked(c, h, line->tid);
	if (task)
		stacks_end(task->stacks, line->from);
	take(c, h, line);
}

static void on_start(struct cmp *c, struct hart *h, const struct line *line)
{
	const struct truth_event *ev;
	struct truth_event begin;
	bool there;

	if (h->dropping) {
		restart(c, h, line, &line->to);
		check_tid(c, h, line, line->to);
		stack_resync(c, h, line);
		return;
	}
	for (;;) {
		ev = next_event(h);
		there = ev && (ev->kind == TRUTH_BEGIN || ev->kind == TRUTH_RESTART) &&
			ev->pc == line->to;
		if (there)
			break;
		if (!ev)
			differ(c, h, line, "decoded a start that is not there");
		pass(c, h, line, ev);
	}
	begin = *ev;
	take(c, h, line);
	check_tid(c, h, line, line->to);
	note_migration(c, h);
	stack_begin(c, h, line->tid, &begin);
}

/* ------------------------------------------------------------------ samples */

/* The instruction with this number, or NULL if the list cannot have reached it */
static const struct truth_event *insn_number(struct hart *h, uint64_t number)
{
	const struct truth_event *ev;
	uint64_t at = h->delivered;

	for (size_t i = 0; (ev = truth_peek(h->truth, i)); i++) {
		if (ev->kind == TRUTH_SEGMENT && h->segmented)
			break;
		if (ev->kind != TRUTH_INSN)
			continue;
		if (++at == number)
			return ev;
		/* the list need not show a transfer at the end of a stretch */
		if (is_transfer(ev) && truth_peek(h->truth, i + 1) &&
		    truth_peek(h->truth, i + 1)->kind == TRUTH_INSN)
			break;
	}
	return NULL;
}

/* The same by pc, if trace was lost: any instruction up to the next transfer will do */
static const struct truth_event *insn_at(struct hart *h, uint64_t pc)
{
	const struct truth_event *ev;

	for (size_t i = 0; (ev = truth_peek(h->truth, i)); i++) {
		if (ev->kind == TRUTH_INSN && ev->pc == pc)
			return ev;
		if (is_transfer(ev))
			break;
	}
	return NULL;
}

/* All lines of a sample have been read: compare it. */
static void check_sample(struct cmp *c)
{
	struct line line = { .number = c->sample.number, .cpu = c->sample.cpu,
			     .tid = c->sample.tid, .text = "", .kind = LINE_SAMPLE };
	const struct truth_event *ev;
	struct hart *h;
	struct task *task;
	bool fewer = false;
	const char *why;

	if (!c->sample.number)
		return;
	h = hart_of(c, &line);
	task = stacked(c, h, line.tid);
	if (!task)
		differ(c, h, &line, "a sample of no task");
	h->sampled += c->period;
	ev = h->uncounted ? insn_at(h, c->sample.chain[0]) : insn_number(h, h->sampled);
	why = ev ? stacks_compare(task->stacks, &c->sample, ev->pc, c->chain, c->last, &fewer) :
		   "a sample of no instruction here";
	if (!why && fewer && !c->allow_loss)
		why = "fewer callers or branches than there were";
	if (why) {
		stacks_show(task->stacks, &c->sample, stdout);
		differ(c, h, &line, why);
	}
	c->samples++;
	c->whole += !fewer;
	if (stacks_depth(task->stacks) > c->deepest)
		c->deepest = stacks_depth(task->stacks);
	c->sample.number = 0;
}

/* Handle lines of samples. Any other line ends the current sample. */
static bool is_of_sample(struct cmp *c, const struct line *line)
{
	if (line->kind == LINE_FRAME || line->kind == LINE_LAST) {
		sample_add(&c->sample, line);
		return true;
	}
	check_sample(c);
	if (line->kind != LINE_SAMPLE)
		return false;
	if (!c->period)
		die("decoded line %llu: a sample, but no --stacks",
		    (unsigned long long)line->number);
	sample_begin(&c->sample, line);
	return true;
}

/* ------------------------------------------------------------- all lines */

static struct hart *hart_of(struct cmp *c, const struct line *line)
{
	if (line->cpu < 0 && c->nharts == 1)
		return c->harts[0];
	for (unsigned int i = 0; i < c->nharts; i++)
		if (c->harts[i]->cpu == line->cpu)
			return c->harts[i];
	/* for an error without a CPU, use the hart that runs its task */
	for (unsigned int i = 0; i < c->nharts && line->kind >= LINE_DOUBT; i++)
		if (c->harts[i]->owner == (uint32_t)line->tid)
			return c->harts[i];
	if (line->kind >= LINE_DOUBT)
		return c->harts[0];
	die("decoded line %llu is of CPU %d, of which there is no truth: %.*s",
	    (unsigned long long)line->number, line->cpu, (int)line->len, line->text);
}

static void on_line(struct cmp *c, struct hart *h, const struct line *line)
{
	if (line->kind < LINE_DOUBT)
		check_cut_off(c, h, line);
	switch (line->kind) {
	case LINE_INSN:
		if (c->branches)
			die("decoded line %llu: instructions in a list of branches",
			    (unsigned long long)line->number);
		on_insn(c, h, line);
		break;
	case LINE_DOUBT:
		on_doubt(c, h, line);
		break;
	case LINE_LOSS:
	case LINE_LOST:
	case LINE_FULL:
	case LINE_SINK:
		on_loss(c, h, line);
		break;
	default:
		if (!c->branches && c->nlines)
			die("decoded line %llu: branches in a list of instructions",
			    (unsigned long long)line->number);
		c->branches = true;
		if (h->doubt && line->kind != LINE_START)
			differ(c, h, line, "no start after a doubt");
		if (line->kind == LINE_BRANCH)
			on_branch(c, h, line);
		else if (line->kind != LINE_START)
			on_stop(c, h, line);
		else if (!pass_doubt(c, h, line, line->to))
			on_start(c, h, line);
	}
	c->nlines += line->kind < LINE_DOUBT;
	remember_line(h, line);
}

/* The list has ended: the rest of the truth must be lost. */
static void finish(struct cmp *c, struct hart *h)
{
	const struct truth_event *ev;

	check_cut_off(c, h, NULL);
	while ((ev = next_event(h))) {
		h->skipping = h->dropping || h->doubt;
		if (!h->skipping && is_required(c, ev))
			differ(c, h, NULL, "decoded less than ran");
		take(c, h, NULL);
	}
	if (h->wrong_task || (h->ahead_tid >= 0 && !h->switching))
		differ(c, h, NULL, "before this, decoded for a task that was not next");
	if (c->period && !h->uncounted && h->delivered - h->sampled >= c->period)
		differ(c, h, NULL, "fewer samples than there are periods");
}

/* ----------------------------------------------------------------- figures */

static void set_figure(struct cmp *c, const char *name, double value)
{
	struct figure *f;

	for (unsigned int i = 0; i < c->nfigures; i++)
		if (!strcmp(c->figures[i].name, name)) {
			c->figures[i].value = value;
			return;
		}
	if (c->nfigures == sizeof(c->figures) / sizeof(*c->figures))
		die("too many figures");
	f = &c->figures[c->nfigures++];
	snprintf(f->name, sizeof(f->name), "%s", name);
	f->value = value;
}

static const struct figure *get_figure(const struct cmp *c, const char *name)
{
	for (unsigned int i = 0; i < c->nfigures; i++)
		if (!strcmp(c->figures[i].name, name))
			return &c->figures[i];
	return NULL;
}

#define AUX_TRUNCATED	1	/* PERF_AUX_FLAG_TRUNCATED */
#define AUX_PARTIAL	4	/* PERF_AUX_FLAG_PARTIAL */

static unsigned long long aux_flags(const char *line)
{
	const char *flags = strstr(line, " flags: ");

	return flags ? strtoull(flags + 8, NULL, 0) : 0;
}

/*
 * perf record reads the head of its buffer twice, and writes records that arrive in between again
 * the next time. @last is the previous AUX record of the dump. The caller frees it.
 */
static bool is_repeated(char **last, const char *line)
{
	unsigned long long cpu, time, last_cpu, last_time;
	const char *words = " PERF_RECORD_AUX ";
	bool same = *last && sscanf(line, "%llu %llu", &cpu, &time) == 2 &&
		    sscanf(*last, "%llu %llu", &last_cpu, &last_time) == 2 && cpu == last_cpu &&
		    time == last_time && !strcmp(strstr(line, words), strstr(*last, words));

	free(*last);
	*last = strdup(line);
	return same;
}

/*
 * Count windows, bytes and ResourceFull messages in the output of `perf report -D`. The driver
 * switches a window when half of it is written. So a record of at least that size is a switch;
 * shorter ones may end because their task was scheduled out.
 */
static void scan_dump(struct cmp *c, const char *spec)
{
	FILE *f = spec[0] == '|' ? popen(spec + 1, "r") : fopen(spec, "r");
	unsigned long long size;
	uint64_t windows = 0, moves = 0, bytes = 0, full = 0;
	char *line = NULL, *last = NULL, *p;
	size_t room = 0;

	if (!f)
		die("%s: cannot be opened", spec);
	while (getline(&line, &room, f) > 0) {
		p = strstr(line, " PERF_RECORD_AUX ");
		if (p) {
			if (is_repeated(&last, line))
				continue;
			p = strstr(p, " size: ");
			if (p && sscanf(p + 7, "%lli", (long long *)&size) == 1 && size) {
				windows++;
				moves += c->window && size >= c->window / 2;
				bytes += size;
			}
			c->truncated += !!(aux_flags(line) & AUX_TRUNCATED);
			c->partial += !!(aux_flags(line) & AUX_PARTIAL);
		} else if (strstr(line, "ResourceFull")) {
			full++;
		}
	}
	free(last);
	free(line);
	if (spec[0] == '|' ? pclose(f) : fclose(f))
		die("%s: failed", spec);
	set_figure(c, "windows", (double)windows);
	set_figure(c, "moves", (double)moves);
	set_figure(c, "bytes", (double)bytes);
	set_figure(c, "resourcefull", (double)full);
}

static void sum_up(struct cmp *c, double seconds)
{
	uint64_t delivered = 0, skipped = 0, branches = 0, traps = 0, regions = 0, drops = 0;
	uint64_t losses = 0, doubts = 0, full = 0, untold = 0, ahead = 0, all;
	const struct figure *bytes = get_figure(c, "bytes");

	for (unsigned int i = 0; i < c->nharts; i++) {
		const struct hart *h = c->harts[i];

		delivered += h->delivered;
		skipped += h->skipped;
		branches += h->branches;
		traps += h->traps;
		regions += h->regions;
		drops += h->drops;
		losses += h->losses;
		doubts += h->doubts;
		full += h->full;
		untold = h->untold > untold ? h->untold : untold;
		ahead = h->ahead > ahead ? h->ahead : ahead;
	}
	all = delivered + skipped;
	set_figure(c, "insns", (double)delivered);
	set_figure(c, "branches", (double)branches);
	set_figure(c, "traps", (double)traps);
	set_figure(c, "migrations", (double)c->migrations);
	set_figure(c, "regions", (double)regions);
	set_figure(c, "drops", (double)drops);
	set_figure(c, "losses", (double)losses);
	if (doubts)
		set_figure(c, "doubts", (double)doubts);
	set_figure(c, "skipped", (double)skipped);
	set_figure(c, "samples", (double)c->samples);
	set_figure(c, "whole", c->samples ? 100.0 * (double)c->whole / (double)c->samples : 0);
	set_figure(c, "deepest", (double)c->deepest);
	set_figure(c, "tasks", (double)c->ran);
	set_figure(c, "full", (double)full);
	set_figure(c, "untold", (double)untold);
	set_figure(c, "ahead", (double)ahead);
	set_figure(c, "percent", all ? 100.0 * (double)delivered / (double)all : 0);
	if (bytes && delivered)
		set_figure(c, "bits", bytes->value * 8 / (double)delivered);
	set_figure(c, "lines", (double)c->nlines);
	set_figure(c, "seconds", seconds);
}

/* Check "NAME=LEAST,..." against the figures, and print those that are too small if `say' */
static bool meets_requirements(struct cmp *c, bool say)
{
	char *list = strdup(c->require ? c->require : ""), *save, *word, *eq;
	const struct figure *f;
	bool met = true;

	for (word = strtok_r(list, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		eq = strchr(word, '=');
		if (!eq)
			die("--require %s: not NAME=LEAST", word);
		*eq++ = 0;
		f = get_figure(c, word);
		if (!f)
			die("--require %s: no such figure", word);
		if (f->value >= atof(eq))
			continue;
		if (say)
			printf("too little: %s=%.15g, required %s\n", word, f->value, eq);
		met = false;
	}
	free(list);
	return met;
}

/*
 * Compare reports of a full buffer or sink with the AUX records, as the truth has no such events.
 */
static bool fits_dump(const struct cmp *c)
{
	uint64_t full = 0, sinks = 0;

	if (!c->dump || !c->allow_loss)
		return true;
	for (unsigned int i = 0; i < c->nharts; i++) {
		full += c->harts[i]->truncated;
		sinks += c->harts[i]->sinks;
	}
	if (full != c->truncated)
		printf("different insns=%llu: %llu reports of a full AUX buffer, %llu records of one\n",
		       (unsigned long long)delivered(c), (unsigned long long)full,
		       (unsigned long long)c->truncated);
	/* There may be fewer: the encoder's own report can stand for that of a record. */
	if (sinks > c->partial)
		printf("different insns=%llu: %llu reports of a full sink, %llu records of one\n",
		       (unsigned long long)delivered(c), (unsigned long long)sinks,
		       (unsigned long long)c->partial);
	return full == c->truncated && sinks <= c->partial;
}

static void print_figures(const struct cmp *c)
{
	for (unsigned int i = 0; i < c->nfigures; i++)
		printf(" %s=%.10g", c->figures[i].name, c->figures[i].value);
	putchar('\n');
}

/* ----------------------------------------------------------------- arguments */

static void __attribute__((noreturn)) usage(int status)
{
	fputs("usage: truthcmp --truth CPU=STREAM... [OPTION...] [DECODED]\n"
	      "Compares DECODED (default: standard input) with truth streams.\n"
	      "  --truth CPU=STREAM  a file, a .zst file or `|COMMAND'; once per hart\n"
	      "  --format perf       lines of perf script -F cpu,tid,event,ip[,addr,flags] (default)\n"
	      "  --format ntrace     lines of ntrace decode --output=pc|branch, one hart\n"
	      "  --branches          a list of branches, even if it is empty\n"
	      "  --segment N         only the truth behind the mark of recording N\n"
	      "  --stacks G,L,N      in a list of branches there are samples, as of --itrace=iNigGlL\n"
	      "  --tid               compare whose each instruction is\n"
	      "  --types             compare the types of branches\n"
	      "  --late-owner        a switch may show at the next trap, or return from one, only\n"
	      "  --allow-loss        accept what the decoder reported as lost and the truth as dropped\n"
	      "  --dump STREAM       count windows, bytes, ResourceFull in output of perf report -D\n"
	      "  --window BYTES      size of a window: count those that moved, too\n"
	      "  --figure NAME=N     a figure from elsewhere\n"
	      "  --require NAME=N,.. least figures: insns branches traps migrations regions drops\n"
	      "                      losses percent windows moves resourcefull, or one of --figure\n"
	      "  --elf FILE[@BIAS]   names for addresses; --kallsyms FILE\n"
	      "Exit status: 0 equal, 1 different or too little, 2 unusable.\n",
	      status ? stderr : stdout);
	exit(status);
}

static void add_hart(struct cmp *c, const char *arg)
{
	char *end;
	long cpu = strtol(arg, &end, 0);
	struct hart *h = calloc(1, sizeof(*h));

	if (end == arg || *end != '=' || cpu < 0)
		die("--truth %s: not CPU=STREAM", arg);
	if (c->nharts == HARTS)
		die("more than %d harts", HARTS);
	if (!h)
		die("out of memory");
	h->cpu = (int)cpu;
	h->ahead_tid = h->behind_tid = -1;
	h->truth = truth_open(end + 1);
	c->harts[c->nharts++] = h;
}

static void add_figure(struct cmp *c, const char *arg)
{
	const char *eq = strchr(arg, '=');
	char name[32];

	if (!eq || eq - arg >= (long)sizeof(name))
		die("--figure %s: not NAME=VALUE", arg);
	snprintf(name, sizeof(name), "%.*s", (int)(eq - arg), arg);
	set_figure(c, name, atof(eq + 1));
}

static const struct option options[] = {
	{ "truth", 1, NULL, 't' }, { "format", 1, NULL, 'f' }, { "branches", 0, NULL, 'b' },
	{ "segment", 1, NULL, 's' }, { "tid", 0, NULL, 'T' }, { "types", 0, NULL, 'y' },
	{ "allow-loss", 0, NULL, 'l' }, { "late-owner", 0, NULL, 'o' }, { "dump", 1, NULL, 'd' },
	{ "window", 1, NULL, 'w' }, { "stacks", 1, NULL, 'c' },
	{ "figure", 1, NULL, 'g' }, { "require", 1, NULL, 'r' }, { "elf", 1, NULL, 'e' },
	{ "kallsyms", 1, NULL, 'k' }, { "help", 0, NULL, 'h' }, { 0 },
};

static void set_format(struct cmp *c, const char *arg)
{
	if (!strcmp(arg, "ntrace"))
		c->format = FORMAT_NTRACE;
	else if (strcmp(arg, "perf"))
		die("--format %s: neither perf nor ntrace", arg);
}

static void set_stacks(struct cmp *c, const char *arg)
{
	unsigned long long period;

	if (sscanf(arg, "%u,%u,%llu", &c->chain, &c->last, &period) != 3 || !period ||
	    c->chain > CHAIN_MAX || c->last > LAST_MAX)
		die("--stacks %s: not CHAIN,LAST,PERIOD", arg);
	c->period = period;
}

static void parse(struct cmp *c, int argc, char **argv)
{
	const char *segment = NULL;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 't': add_hart(c, optarg); break;
		case 'f': set_format(c, optarg); break;
		case 'b': c->branches = true; break;
		case 's': segment = optarg; break;
		case 'T': c->check_tid = true; break;
		case 'y': c->check_types = true; break;
		case 'l': c->allow_loss = true; break;
		case 'o': c->late_owner = true; break;
		case 'd': c->dump = optarg; break;
		case 'w': c->window = strtoull(optarg, NULL, 0); break;
		case 'c': set_stacks(c, optarg); break;
		case 'g': add_figure(c, optarg); break;
		case 'r': c->require = optarg; break;
		case 'e': syms_add_elf(c->syms, optarg); break;
		case 'k': syms_add_list(c->syms, optarg); break;
		case 'h': usage(0);
		default: usage(2);
		}
	}
	if (!c->nharts || argc - optind > 1)
		usage(2);
	if (c->dump)
		scan_dump(c, c->dump);
	for (unsigned int i = 0; segment && i < c->nharts; i++) {
		if (!truth_seek_segment(c->harts[i]->truth, strtoull(segment, NULL, 0)))
			die("%s: no recording %s", truth_name(c->harts[i]->truth), segment);
		c->harts[i]->segmented = true;
	}
	if (argc > optind && !freopen(argv[optind], "r", stdin))
		die("%s: cannot be opened", argv[optind]);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	static struct cmp c;
	double start = now();
	struct line line;
	bool met;

	c.syms = syms_new();
	parse(&c, argc, argv);
	c.lines = lines_open(fileno(stdin), c.format);
	while (lines_next(c.lines, &line))
		if (!is_of_sample(&c, &line))
			on_line(&c, hart_of(&c, &line), &line);
	check_sample(&c);
	for (unsigned int i = 0; i < c.nharts; i++)
		finish(&c, c.harts[i]);
	if (!fits_dump(&c))
		return 1;
	sum_up(&c, now() - start);
	met = meets_requirements(&c, false);
	printf(met ? "equal" : "equal, but too little:");
	print_figures(&c);
	meets_requirements(&c, true);
	return met ? 0 : 1;
}
