/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A trace component: one page of registers behind a `riscv,trace-component` node.
 */
#ifndef _NTRACE_COMPONENT_H
#define _NTRACE_COMPONENT_H

#include <linux/device.h>
#include <linux/io.h>
#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mod_devicetable.h>
#include <linux/types.h>

struct ntrace_component;

/**
 * struct ntrace_component_type - what a type of component can do
 * @name:	for messages and sysfs
 * @id:		trXxCompType
 * @size:	of the structure whose first member is the component
 * @reset:	give every register that may come up undefined a value; Active is 1, Enable is 0
 * @probe:	find out what this one can do, after @reset
 * @enable:	set Enable and see it stick
 * @disable:	clear Enable and wait until the component is empty; NULL for an encoder, which needs
 *		its sink to get there
 * @group:	sysfs attributes of the component's device, may be NULL
 */
struct ntrace_component_type {
	const char *name;
	u8 id;
	size_t size;
	int (*reset)(struct ntrace_component *comp);
	int (*probe)(struct ntrace_component *comp);
	int (*enable)(struct ntrace_component *comp);
	int (*disable)(struct ntrace_component *comp);
	const struct attribute_group *group;
};

/**
 * struct ntrace_component - one of them; it may outlive its device's being bound, because events
 *			      refer to it
 * @refs:	the device, while it is bound, and whoever may look at this later
 * @dev:	its platform device
 * @base:	its registers, nobody's once it is unbound
 * @start:	their physical address, for messages
 * @impl:	trXxImpl
 * @type:	from @impl
 * @cpu:	the CPU that the `cpus` property names, -1 for a shared component
 * @id:		what `sinkid` calls it, should it be a sink
 * @node:	in the list of all components
 * @failed:	a wait ran out of time; the component is held in reset from then on
 * @report:	prints the failure, which may have happened under the run queue lock
 * @what:	the condition that never came true
 * @last:	the register value seen instead
 * @sysfs:	file of the PMU that stands for it, may be NULL
 * @users:	events whose paths lead through it, under ntrace_components_lock
 * @next:	where their trace goes from here
 */
struct ntrace_component {
	struct kref refs;
	struct device *dev;
	void __iomem *base;
	resource_size_t start;
	u32 impl;
	const struct ntrace_component_type *type;
	int cpu;
	u32 id;
	struct list_head node;
	bool failed;
	struct irq_work report;
	const char *what;
	u32 last;
	struct attribute *sysfs;
	unsigned int users;
	struct ntrace_component *next;
};

/**
 * struct ntrace_variant - what no register tells of an implementation, its compatible does
 * @profile:	of an encoder: the deviations of its messages, as a decoder calls them; NULL: none
 * @addr_bits:	of an encoder: bits of an address field, 0: as many as the hart's addresses want
 * @src_bits:	of an encoder: its messages always have SRC, of so many bits
 * @filter_value: of an encoder: its only filter compares with one privilege, and its registers
 *		are elsewhere
 * @can_stall:	of an encoder: a hart that it stalls takes traps, and does not stall in code that
 *		is not traced. Another one could never make room in the AUX buffer.
 * @wp_exact:	of a sink: all trace before the write pointer is in memory. Otherwise the write
 *		pointer may count pending writes, and the driver stops the sink before a read.
 * @align:	of a sink: bytes that it writes at a time, 0: what its write pointer tells
 * @headroom:	of a sink: bytes at the end of a window for what is on its way when its encoder
 *		stops. With StopOnWrap the sink stops there, and stops the encoders, too.
 * @overruns:	of a sink: with system memory it may go on at Limit in spite of StopOnWrap
 * @rewinds:	of a sink: it begins at Start whenever it is enabled
 * @wrap_sticks: of a sink: software cannot clear Wrap
 */
struct ntrace_variant {
	const char *profile;
	u8 addr_bits;
	u8 src_bits;
	bool filter_value;
	bool can_stall;
	bool wp_exact;
	u32 align;
	u32 headroom;
	bool overruns;
	bool rewinds;
	bool wrap_sticks;
};

/**
 * struct ntrace_component_listener - told of components that come and go
 * @bound:	@comp is ready for use; an error fails its probe
 * @unbound:	@comp is about to go: nothing may touch its registers, nor use its device for DMA,
 *		when this returns
 */
struct ntrace_component_listener {
	int (*bound)(struct ntrace_component *comp);
	void (*unbound)(struct ntrace_component *comp);
};

static inline u32 ntrace_read(struct ntrace_component *comp, u32 offset)
{
	return readl(comp->base + offset);
}

static inline void ntrace_write(struct ntrace_component *comp, u32 offset, u32 value)
{
	writel(value, comp->base + offset);
}

/* What no memory depends on yet: accesses of one component stay in their order. */
static inline u32 ntrace_read_relaxed(struct ntrace_component *comp, u32 offset)
{
	return readl_relaxed(comp->base + offset);
}

static inline void ntrace_write_relaxed(struct ntrace_component *comp, u32 offset, u32 value)
{
	writel_relaxed(value, comp->base + offset);
}

/* Write a WARL register and say what became of it. */
static inline u32 ntrace_write_back(struct ntrace_component *comp, u32 offset, u32 value)
{
	ntrace_write(comp, offset, value);
	return ntrace_read(comp, offset);
}

/**
 * struct ntrace_deadline - bounds a wait in polls and in time
 * @polls:	so far
 * @end:	in nanoseconds; set after the first polls, because a prompt component should not pay
 *		for reading the clock
 */
struct ntrace_deadline {
	unsigned int polls;
	u64 end;
};

bool ntrace_deadline_passed(struct ntrace_deadline *deadline);
int ntrace_wait_on(struct ntrace_component *comp, u32 mask, u32 value, const char *what);

/**
 * ntrace_wait - wait until the Control register reads as wanted
 * @comp:	the component
 * @mask:	bits to look at
 * @value:	what they should become
 * @what:	the same in words
 *
 * A prompt component costs one look. Return: 0, or -ETIMEDOUT after ntrace_component_fail()
 */
static inline int ntrace_wait(struct ntrace_component *comp, u32 mask, u32 value, const char *what)
{
	if ((ntrace_read(comp, 0) & mask) == value)
		return 0;

	return ntrace_wait_on(comp, mask, value, what);
}

bool ntrace_has_register(struct ntrace_component *comp, u32 offset);
int ntrace_component_fail(struct ntrace_component *comp, const char *what, u32 last);
void ntrace_component_complain(struct ntrace_component *comp, const char *what, u32 last);
int ntrace_component_reset(struct ntrace_component *comp);
struct ntrace_component *ntrace_component_get(struct ntrace_component *comp);
void ntrace_component_put(struct ntrace_component *comp);
void ntrace_component_wake(struct ntrace_component *comp);

struct device_node;

extern const struct of_device_id ntrace_component_of_match[];

struct mutex;
extern struct mutex ntrace_components_lock;
struct ntrace_component *ntrace_component_find(const struct device_node *np);
struct ntrace_component *ntrace_component_next(struct ntrace_component *comp, u8 type);

/* Walk all components of a type; ntrace_components_lock is held. */
#define ntrace_for_each_component(comp, id)					\
	for ((comp) = ntrace_component_next(NULL, id); (comp);			\
	     (comp) = ntrace_component_next(comp, id))

int ntrace_component_driver_register(const struct ntrace_component_type *const *types,
				     const struct ntrace_component_listener *listener);
void ntrace_component_driver_unregister(void);

#endif /* _NTRACE_COMPONENT_H */
