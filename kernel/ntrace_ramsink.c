// SPDX-License-Identifier: GPL-2.0-only
/*
 * RAM sink in SMEM mode. It writes into a window of system memory and stops when the window is
 * full:
 *
 *	Start                    WP                          Limit
 *	  |                       |                            |
 *	+-v-----------------------v----------------------------v-+
 *	| $$$$$$$$$$$$$$$$$$$$$$$ | ############################ |
 *	+--------------------------------------------------------+
 *	$ written   # still free   Limit is the last word, inclusive
 *
 * After the word at Limit, WP is Start again, Wrap (bit 0 of WP) is 1 and, with StopOnWrap, Enable
 * is 0.
 *
 * A sink with memory of its own (SRAM) or at a fixed place needs its trace copied; that is not done
 * here yet.
 */
#include <linux/bitfield.h>
#include <linux/dma-mapping.h>
#include <linux/stringhash.h>
#include <linux/sysfs.h>

#include "ntrace_ramsink.h"
#include "ntrace_regs.h"

#define NTRACE_RAM_CONTROL \
	(TR_CONTROL_ACTIVE | TR_RAM_CONTROL_MODE_SMEM | TR_RAM_CONTROL_STOP_ON_WRAP)

static void ntrace_ramsink_write64(struct ntrace_ramsink *sink, u32 low, u64 value)
{
	/* The high half is the register behind the low one. */
	ntrace_write(&sink->comp, low + 4, upper_32_bits(value));
	ntrace_write(&sink->comp, low, lower_32_bits(value));
}

static u64 ntrace_ramsink_read64(struct ntrace_ramsink *sink, u32 low)
{
	return (u64)ntrace_read(&sink->comp, low + 4) << 32 | ntrace_read(&sink->comp, low);
}

/* Mode comes first: the other registers may look different in the other one. */
static int ntrace_ramsink_reset(struct ntrace_component *comp)
{
	struct ntrace_ramsink *sink = to_ntrace_ramsink(comp);

	ntrace_write(comp, TR_RAM_CONTROL, NTRACE_RAM_CONTROL);
	sink->control = NTRACE_RAM_CONTROL;
	sink->start = 0;
	sink->size = 0;

	return 0;
}

static int ntrace_ramsink_probe_mode(struct ntrace_ramsink *sink)
{
	struct ntrace_component *comp = &sink->comp;
	u32 mask = TR_RAM_CONTROL_MODE_SMEM | TR_RAM_CONTROL_STOP_ON_WRAP |
		   TR_RAM_CONTROL_MEM_FORMAT;
	u32 control = ntrace_read(comp, TR_RAM_CONTROL);

	if (!(comp->impl & TR_RAM_IMPL_HAS_SMEM)) {
		dev_err(comp->dev,
			"trace RAM sink at %pa cannot write to system memory, which is not supported yet (Impl 0x%08x)\n",
			&comp->start, comp->impl);
		return -EOPNOTSUPP;
	}
	if ((control & mask) != (NTRACE_RAM_CONTROL & mask)) {
		dev_err(comp->dev,
			"trace RAM sink at %pa cannot stop when full, or has a memory format of its own (Control 0x%08x)\n",
			&comp->start, control);
		return -EOPNOTSUPP;
	}

	control = NTRACE_RAM_CONTROL & ~TR_RAM_CONTROL_STOP_ON_WRAP;
	control = ntrace_write_back(comp, TR_RAM_CONTROL, control);
	sink->can_ring = !(control & TR_RAM_CONTROL_STOP_ON_WRAP);
	ntrace_write(comp, TR_RAM_CONTROL, NTRACE_RAM_CONTROL);

	return 0;
}

/*
 * What do Start, Limit and WP keep of all ones? Nothing is written to memory meanwhile, and nothing
 * ever will be before the registers hold a window that perf handed out.
 */
static int ntrace_ramsink_probe_window(struct ntrace_ramsink *sink)
{
	struct ntrace_component *comp = &sink->comp;
	u64 start, limit, wp;

	ntrace_ramsink_write64(sink, TR_RAM_START_LOW, U64_MAX);
	start = ntrace_ramsink_read64(sink, TR_RAM_START_LOW);
	ntrace_ramsink_write64(sink, TR_RAM_START_LOW, 0);
	ntrace_ramsink_write64(sink, TR_RAM_LIMIT_LOW, U64_MAX);
	limit = ntrace_ramsink_read64(sink, TR_RAM_LIMIT_LOW);
	ntrace_ramsink_write64(sink, TR_RAM_WP_LOW, U64_MAX & ~(u64)TR_RAM_WP_LOW_WRAP);
	wp = ntrace_ramsink_read64(sink, TR_RAM_WP_LOW) & ~3ULL;
	ntrace_ramsink_write64(sink, TR_RAM_WP_LOW, 0);
	ntrace_ramsink_write64(sink, TR_RAM_LIMIT_LOW, 0);

	sink->addr_bits = fls64(start);
	sink->align = wp ? 1U << __ffs64(wp) : 4;
	if (ntrace_ramsink_read64(sink, TR_RAM_START_LOW) || fls64(limit) < sink->addr_bits ||
	    sink->addr_bits <= PAGE_SHIFT) {
		dev_err(comp->dev,
			"trace RAM sink at %pa has its memory at a fixed place, which is not supported yet (Start 0x%llx, Limit 0x%llx)\n",
			&comp->start, start, limit);
		return -EOPNOTSUPP;
	}
	if (sink->align > PAGE_SIZE) {
		dev_err(comp->dev,
			"trace RAM sink at %pa writes %u bytes at a time, more than a page\n",
			&comp->start, sink->align);
		return -EOPNOTSUPP;
	}

	return 0;
}

/* The number that `sinkid` takes; 0 stands for the default sink. */
static u32 ntrace_ramsink_hash(const char *name)
{
	return hashlen_hash(hashlen_string(NULL, name)) ?: 1;
}

static int ntrace_ramsink_probe(struct ntrace_component *comp)
{
	struct ntrace_ramsink *sink = to_ntrace_ramsink(comp);
	int ret;

	ret = ntrace_ramsink_probe_mode(sink) ?: ntrace_ramsink_probe_window(sink);
	if (ret)
		return ret;

	sink->id = ntrace_ramsink_hash(dev_name(comp->dev));

	ret = dma_set_mask_and_coherent(comp->dev, DMA_BIT_MASK(sink->addr_bits));
	if (ret)
		dev_err(comp->dev, "trace RAM sink at %pa: no memory within its %u address bits\n",
			&comp->start, sink->addr_bits);

	return ret;
}

/* Start comes before Limit, because what Limit can be may depend on it. */
static int ntrace_ramsink_set(struct ntrace_ramsink *sink, u64 start, u64 size, u64 at)
{
	struct ntrace_component *comp = &sink->comp;
	u64 limit = start + size - sink->align;

	if (comp->failed)
		return -EIO;

	if (!sink->size || upper_32_bits(start) != upper_32_bits(sink->start) ||
	    upper_32_bits(limit) != upper_32_bits(sink->start + sink->size - sink->align)) {
		ntrace_write(comp, TR_RAM_START_HIGH, upper_32_bits(start));
		ntrace_write(comp, TR_RAM_LIMIT_HIGH, upper_32_bits(limit));
		ntrace_write(comp, TR_RAM_WP_HIGH, upper_32_bits(start));
	}
	ntrace_write(comp, TR_RAM_START_LOW, lower_32_bits(start));
	ntrace_write(comp, TR_RAM_LIMIT_LOW, lower_32_bits(limit));
	ntrace_write(comp, TR_RAM_WP_LOW, lower_32_bits(start + at));

	sink->start = start;
	sink->size = size;
	if (ntrace_read(comp, TR_RAM_START_LOW) == lower_32_bits(start) &&
	    ntrace_read(comp, TR_RAM_LIMIT_LOW) == lower_32_bits(limit))
		return 0;

	sink->size = 0;
	comp->what = "its window to be kept";
	comp->last = ntrace_read(comp, TR_RAM_LIMIT_LOW);
	irq_work_queue(&comp->report);
	return -EIO;
}

/**
 * ntrace_ramsink_set_window - say where to write
 * @sink:	the sink, not enabled and empty
 * @start:	bus address, a multiple of the write width
 * @size:	in bytes, likewise
 *
 * Start comes before Limit, because what Limit can be may depend on it. Return: 0, or -EIO when the
 * sink did not take the window as it is; it must not be enabled then.
 */
int ntrace_ramsink_set_window(struct ntrace_ramsink *sink, u64 start, u64 size)
{
	sink->control = NTRACE_RAM_CONTROL;

	return ntrace_ramsink_set(sink, start, size, 0);
}

/**
 * ntrace_ramsink_set_ring - say where to go round
 * @sink:	the sink, not enabled and empty
 * @start:	bus address, a multiple of the write width
 * @size:	in bytes, likewise
 * @at:		offset at which to begin, likewise
 *
 * Return: as ntrace_ramsink_set_window()
 */
int ntrace_ramsink_set_ring(struct ntrace_ramsink *sink, u64 start, u64 size, u64 at)
{
	sink->control = NTRACE_RAM_CONTROL & ~TR_RAM_CONTROL_STOP_ON_WRAP;

	return ntrace_ramsink_set(sink, start, size, at);
}

static int ntrace_ramsink_enable(struct ntrace_component *comp)
{
	ntrace_write(comp, TR_RAM_CONTROL, to_ntrace_ramsink(comp)->control | TR_CONTROL_ENABLE);

	return ntrace_wait(comp, TR_CONTROL_ENABLE, TR_CONTROL_ENABLE, "Enable=1", NULL);
}

static int ntrace_ramsink_disable(struct ntrace_component *comp)
{
	ntrace_write(comp, TR_RAM_CONTROL, to_ntrace_ramsink(comp)->control);

	return ntrace_wait(comp, TR_CONTROL_ENABLE | TR_CONTROL_EMPTY, TR_CONTROL_EMPTY,
			   "Enable=0 and Empty=1", NULL);
}

/**
 * ntrace_ramsink_stopped - did the sink, once enabled, run into the end of its window?
 * @sink: the sink
 */
bool ntrace_ramsink_stopped(struct ntrace_ramsink *sink)
{
	return !(ntrace_read(&sink->comp, TR_RAM_CONTROL) & TR_CONTROL_ENABLE);
}

/**
 * ntrace_ramsink_used - how much of the window is written
 * @sink: the sink
 *
 * Never more than the window: a write pointer that lies outside is no reason to publish anything.
 */
u64 ntrace_ramsink_used(struct ntrace_ramsink *sink)
{
	u32 wp = ntrace_read(&sink->comp, TR_RAM_WP_LOW);
	u64 used;

	if (wp & TR_RAM_WP_LOW_WRAP)
		return sink->size;

	/* A window is far smaller than 4 GiB: the low half is enough. */
	used = (u32)((wp & TR_RAM_WP_LOW_ADDR) - lower_32_bits(sink->start));

	return used <= sink->size ? used : 0;
}

/**
 * ntrace_ramsink_ring_at - where in its ring the sink writes next
 * @sink:	the sink
 * @wrapped:	it has come past Limit since it was set
 *
 * Never outside: a write pointer that is says nothing.
 */
u64 ntrace_ramsink_ring_at(struct ntrace_ramsink *sink, bool *wrapped)
{
	u32 wp = ntrace_read(&sink->comp, TR_RAM_WP_LOW);
	u64 at = (u32)((wp & TR_RAM_WP_LOW_ADDR) - lower_32_bits(sink->start));

	*wrapped = wp & TR_RAM_WP_LOW_WRAP;

	return at < sink->size ? at : 0;
}

/* sysfs */

#define NTRACE_RAMSINK_ATTR(_name, _fmt, _value)						\
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr, char *buf)	\
{												\
	struct ntrace_ramsink *sink = dev_get_drvdata(dev);					\
												\
	return sysfs_emit(buf, _fmt "\n", _value);						\
}												\
static DEVICE_ATTR_RO(_name)

NTRACE_RAMSINK_ATTR(impl, "0x%08x", sink->comp.impl);
NTRACE_RAMSINK_ATTR(address_bits, "%u", sink->addr_bits);
NTRACE_RAMSINK_ATTR(write_width, "%u", sink->align);

static struct attribute *ntrace_ramsink_attrs[] = {
	&dev_attr_impl.attr,
	&dev_attr_address_bits.attr,
	&dev_attr_write_width.attr,
	NULL
};

static const struct attribute_group ntrace_ramsink_group = {
	.attrs = ntrace_ramsink_attrs,
};

const struct ntrace_component_type ntrace_ramsink_type = {
	.name		= "RAM sink",
	.id		= TR_COMP_RAMSINK,
	.size		= sizeof(struct ntrace_ramsink),
	.reset		= ntrace_ramsink_reset,
	.probe		= ntrace_ramsink_probe,
	.enable		= ntrace_ramsink_enable,
	.disable	= ntrace_ramsink_disable,
	.group		= &ntrace_ramsink_group,
};
