// SPDX-License-Identifier: GPL-2.0-only
/*
 * RAM sink. It writes into a window of memory and stops when the window is full:
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
 * The memory of a window:
 *
 *	Start is writable		the AUX area itself, or a bounce buffer
 *	`memory-region` in the tree	that region, or a bounce buffer from it if it is a DMA pool
 *	Start is fixed			the memory there, unless the kernel uses it
 *	SRAM of the sink		read word by word through trRamData
 */
#include <linux/bitfield.h>
#include <linux/cleanup.h>
#include <linux/dma-direct.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/of_address.h>
#include <linux/of_reserved_mem.h>
#include <linux/property.h>
#include <linux/sizes.h>

#include "ntrace_component.h"
#include "ntrace_version0.h"

static bool copy;
module_param(copy, bool, 0444);
MODULE_PARM_DESC(copy, "copy trace even where a sink could write into the AUX area itself");

static bool sram;
module_param(sram, bool, 0444);
MODULE_PARM_DESC(sram, "let sinks that have memory of their own write there, not to the system's");

/*
 * Maximum size of a copy, and of a cache sync for a sink that is not coherent. Interrupts are off
 * meanwhile, and should not be for more than 100 microseconds.
 */
#define NTRACE_BATCH		SZ_256K

/* Size of a bounce buffer that the driver allocates: try smaller sizes down to the minimum */
#define NTRACE_STORE_SIZE	NTRACE_BATCH
#define NTRACE_STORE_MIN	SZ_64K

/* No known sink writes more bytes at a time. */
#define NTRACE_UNIT_MAX		64

/* Protects the allocation and the users of bounce buffers */
static DEFINE_MUTEX(ntrace_store_lock);

static const struct ntrace_ramsink_layout ntrace_ramsink_version1 = {
	.mode = TR_RAM_CONTROL_MODE_SMEM,
	.stop_on_wrap = TR_RAM_CONTROL_STOP_ON_WRAP,
	.falls = true,
	.highs = true,
	.wp = TR_RAM_WP_LOW,
};

static const struct ntrace_ramsink_layout ntrace_ramsink_version0 = {
	.mode = FIELD_PREP_CONST(TR0_SINK, TR0_SINK_SYSTEM_MEMORY),
	.stop_on_wrap = TR0_STOP_ON_WRAP,
	.error = TR0_SINK_ERROR,
	.wp = TR0_WP,
};

/* Does the register have a high half, in the next register? */
static bool ntrace_ramsink_has_high(const struct ntrace_ramsink *sink, u32 low)
{
	return sink->has_high && (sink->layout->highs || low == TR_RAM_START_LOW);
}

static void ntrace_ramsink_write64(struct ntrace_ramsink *sink, u32 low, u64 value)
{
	if (ntrace_ramsink_has_high(sink, low))
		ntrace_write(&sink->comp, low + 4, upper_32_bits(value));
	ntrace_write(&sink->comp, low, lower_32_bits(value));
}

static u64 ntrace_ramsink_read64(struct ntrace_ramsink *sink, u32 low)
{
	u64 high = ntrace_ramsink_has_high(sink, low) ? ntrace_read(&sink->comp, low + 4) : 0;

	return high << 32 | ntrace_read(&sink->comp, low);
}

static bool ntrace_ramsink_keeps(struct ntrace_ramsink *sink, u32 low, u64 value)
{
	if (!ntrace_ramsink_has_high(sink, low))
		value = lower_32_bits(value);

	return ntrace_ramsink_read64(sink, low) == value;
}

/* Set the mode first, because the other registers may depend on it. */
static int ntrace_ramsink_reset(struct ntrace_component *comp)
{
	struct ntrace_ramsink *sink = to_ntrace_ramsink(comp);
	bool own = sram && comp->impl & TR_RAM_IMPL_HAS_SRAM;
	bool smem = comp->version0 || (comp->impl & TR_RAM_IMPL_HAS_SMEM && !own);

	sink->layout = comp->version0 ? &ntrace_ramsink_version0 : &ntrace_ramsink_version1;
	sink->control = TR_CONTROL_ACTIVE | sink->layout->stop_on_wrap |
			(smem ? sink->layout->mode : 0);
	ntrace_write(comp, TR_RAM_CONTROL, sink->control);
	/* Does nothing at the first reset, or without a timestamp unit. */
	ntrace_timestamp_run(comp, &sink->ts);
	sink->state = NTRACE_SINK_OFF;
	sink->start = 0;
	sink->limit = 0;
	sink->size = 0;
	sink->drained = 0;

	return 0;
}

static int ntrace_ramsink_probe_mode(struct ntrace_ramsink *sink)
{
	struct ntrace_component *comp = &sink->comp;
	u32 mask = TR_RAM_CONTROL_MODE_SMEM | TR_RAM_CONTROL_STOP_ON_WRAP |
		   TR_RAM_CONTROL_MEM_FORMAT;
	u32 control = ntrace_read(comp, TR_RAM_CONTROL);

	if (!(comp->impl & (TR_RAM_IMPL_HAS_SMEM | TR_RAM_IMPL_HAS_SRAM))) {
		ntrace_log(err, comp, " has neither SMEM nor SRAM mode (Impl 0x%08x)", comp->impl);
		return -EOPNOTSUPP;
	}
	if ((control & mask) != (sink->control & mask)) {
		ntrace_log(err, comp,
			   " cannot stop when full, or has a memory format of its own (Control 0x%08x)",
			   control);
		return -EOPNOTSUPP;
	}

	control = sink->control & ~TR_RAM_CONTROL_STOP_ON_WRAP;
	control = ntrace_write_back(comp, TR_RAM_CONTROL, control);
	sink->can_ring = !(control & TR_RAM_CONTROL_STOP_ON_WRAP);
	ntrace_write(comp, TR_RAM_CONTROL, sink->control);

	return 0;
}

/* The values that the window registers keep after writing 0 and all ones */
struct ntrace_ramsink_range {
	u64 start_min, start_max;
	u64 limit_min, limit_max;
	u64 wp_max;			/* without Wrap */
};

/*
 * Write all ones and 0 to Start, Limit and WP, and read them back. The sink is disabled, so it does
 * not write to memory. The driver enables it only after setting a valid window.
 */
static void ntrace_ramsink_try_window(struct ntrace_ramsink *sink,
				      struct ntrace_ramsink_range *range)
{
	ntrace_ramsink_write64(sink, TR_RAM_START_LOW, U64_MAX);
	range->start_max = ntrace_ramsink_read64(sink, TR_RAM_START_LOW);
	ntrace_ramsink_write64(sink, TR_RAM_START_LOW, 0);
	range->start_min = ntrace_ramsink_read64(sink, TR_RAM_START_LOW);
	ntrace_ramsink_write64(sink, TR_RAM_LIMIT_LOW, U64_MAX);
	range->limit_max = ntrace_ramsink_read64(sink, TR_RAM_LIMIT_LOW);
	ntrace_ramsink_write64(sink, TR_RAM_WP_LOW, U64_MAX & ~(u64)TR_RAM_WP_LOW_WRAP);
	range->wp_max = ntrace_ramsink_read64(sink, TR_RAM_WP_LOW) & ~3ULL;
	ntrace_ramsink_write64(sink, TR_RAM_WP_LOW, 0);
	ntrace_ramsink_write64(sink, TR_RAM_LIMIT_LOW, 0);
	range->limit_min = ntrace_ramsink_read64(sink, TR_RAM_LIMIT_LOW);

	sink->addr_bits = fls64(range->limit_max);
	if (range->start_max != range->start_min)
		sink->addr_bits = min_t(u32, sink->addr_bits, fls64(range->start_max));
	sink->align = range->wp_max ? 1U << __ffs64(range->wp_max) : 4;
}

/* How much of a region to use: all of it only if Limit is fixed */
static u64 ntrace_ramsink_store_size(const struct ntrace_ramsink *sink, u64 size)
{
	return min_t(u64, size, sink->store.fixed ? SZ_1G : NTRACE_BATCH);
}

/* Use memory at a known address, if it is large enough and the sink can reach it */
static int ntrace_ramsink_use_store(struct ntrace_ramsink *sink, u64 bus, u64 size)
{
	size = ALIGN_DOWN(size, sink->align);
	if (size < 2 * SZ_1K || bus & (sink->align - 1) ||
	    fls64(bus + size - 1) > sink->addr_bits) {
		ntrace_log(err, &sink->comp, ": 0x%llx bytes at 0x%llx are no memory for it", size,
			   bus);
		return -EOPNOTSUPP;
	}

	sink->store.bus = bus;
	sink->store.size = ntrace_ramsink_store_size(sink, size);
	sink->copied = true;

	return 0;
}

static int ntrace_ramsink_probe_sram(struct ntrace_ramsink *sink,
				     const struct ntrace_ramsink_range *range)
{
	struct ntrace_component *comp = &sink->comp;
	u64 limit = range->limit_max, rp;
	int ret;

	ret = ntrace_ramsink_use_store(sink, range->start_min,
				       limit + sizeof(u32) - range->start_min);
	if (ret)
		return ret;

	/* The SRAM can be read if the read pointer keeps an address. */
	ntrace_ramsink_write64(sink, TR_RAM_LIMIT_LOW, limit);
	ntrace_ramsink_write64(sink, TR_RAM_RP_LOW, limit);
	rp = ntrace_ramsink_read64(sink, TR_RAM_RP_LOW);
	ntrace_ramsink_write64(sink, TR_RAM_RP_LOW, range->start_min);
	if (lower_32_bits(rp) == lower_32_bits(limit))
		return 0;

	ntrace_log(err, comp, ": its SRAM cannot be read (RP 0x%llx)", rp);
	return -EOPNOTSUPP;
}

static int ntrace_ramsink_map_store(struct ntrace_ramsink *sink, phys_addr_t phys)
{
	struct ntrace_component *comp = &sink->comp;
	unsigned long flags = dev_is_dma_coherent(comp->dev) ? MEMREMAP_WB : MEMREMAP_WC;

	sink->store.cpu = devm_memremap(comp->dev, phys, sink->store.size, flags);

	return PTR_ERR_OR_ZERO(sink->store.cpu);
}

static bool ntrace_ramsink_is_pool(const struct device_node *np)
{
	return of_device_is_compatible(np, "shared-dma-pool") ||
	       of_device_is_compatible(np, "restricted-dma-pool");
}

static void ntrace_ramsink_unmap_region(void *data)
{
	struct ntrace_ramsink *sink = data;

	dma_unmap_resource(sink->comp.dev, sink->store.bus, sink->store.size, DMA_FROM_DEVICE, 0);
}

/*
 * Find the bus address of memory that the kernel does not manage. The DMA API maps such memory only
 * if there is an IOMMU; without an IOMMU it ignores dma-ranges.
 */
static int ntrace_ramsink_map_region(struct ntrace_ramsink *sink, const struct resource *res,
				     dma_addr_t *bus)
{
	struct device *dev = sink->comp.dev;
	int ret;

	if (!device_iommu_mapped(dev)) {
		*bus = phys_to_dma(dev, res->start);
		return *bus == DMA_MAPPING_ERROR ? -ERANGE : 0;
	}

	ret = dma_set_mask(dev, DMA_BIT_MASK(sink->addr_bits));
	if (ret)
		return ret;
	*bus = dma_map_resource(dev, res->start,
				ntrace_ramsink_store_size(sink, resource_size(res)),
				DMA_FROM_DEVICE, 0);
	if (dma_mapping_error(dev, *bus))
		return -ENOMEM;

	return devm_add_action_or_reset(dev, ntrace_ramsink_unmap_region, sink);
}

static void ntrace_ramsink_leave_pool(void *dev)
{
	of_reserved_mem_device_release(dev);
}

/* The DMA API allocates memory from a pool, which other devices may share. */
static int ntrace_ramsink_use_pool(struct ntrace_ramsink *sink)
{
	struct device *dev = sink->comp.dev;
	int ret;

	ret = of_reserved_mem_device_init(dev);
	if (ret)
		return ret;

	sink->store.pool = true;

	return devm_add_action_or_reset(dev, ntrace_ramsink_leave_pool, dev);
}

/* The device tree reserves memory for the sink. */
static int ntrace_ramsink_probe_region(struct ntrace_ramsink *sink, struct device_node *np,
				       const struct ntrace_ramsink_range *range)
{
	struct ntrace_component *comp = &sink->comp;
	struct resource res;
	dma_addr_t bus;
	int ret;

	if (ntrace_ramsink_is_pool(np)) {
		ntrace_log(err, comp, " writes to 0x%llx only, and `memory-region` is a DMA pool",
			   range->start_min);
		return -EOPNOTSUPP;
	}
	ret = of_address_to_resource(np, 0, &res) ?: ntrace_ramsink_map_region(sink, &res, &bus);
	if (ret) {
		ntrace_log(err, comp, ": `memory-region` has no address, or none on its bus");
		return ret;
	}
	if (range->start_min == range->start_max && range->start_min != bus) {
		ntrace_log(err, comp, " writes to 0x%llx only, `memory-region` is at 0x%llx",
			   range->start_min, (u64)bus);
		return -EOPNOTSUPP;
	}

	return ntrace_ramsink_use_store(sink, bus,
					ntrace_ramsink_store_size(sink, resource_size(&res))) ?:
	       ntrace_ramsink_map_store(sink, res.start);
}

/* Start is fixed, and the device tree reserves no memory: the kernel must not use this memory. */
static int ntrace_ramsink_probe_fixed(struct ntrace_ramsink *sink,
				      const struct ntrace_ramsink_range *range)
{
	struct ntrace_component *comp = &sink->comp;
	u64 size = range->limit_max + sink->align - range->start_min;
	phys_addr_t phys = dma_to_phys(comp->dev, range->start_min);

	if (device_iommu_mapped(comp->dev) ||
	    region_intersects(phys, size, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) !=
		    REGION_DISJOINT) {
		ntrace_log(err, comp, " writes to 0x%llx only, which is not set aside for it",
			   range->start_min);
		return -EOPNOTSUPP;
	}

	return ntrace_ramsink_use_store(sink, range->start_min, size) ?:
	       ntrace_ramsink_map_store(sink, phys);
}

/* Memory may be anywhere: the registers must keep any address up to some width. */
static int ntrace_ramsink_probe_anywhere(struct ntrace_ramsink *sink,
					 const struct ntrace_ramsink_range *range)
{
	const struct {
		const char *name;
		u64 kept;
	} window[] = {
		{ "trRamStart", range->start_max },
		{ "trRamLimit", range->limit_max },
		{ "trRamWP", range->wp_max },
	};
	struct ntrace_component *comp = &sink->comp;
	unsigned int i;
	u64 bits;

	for (i = 0; i < ARRAY_SIZE(window); i++) {
		bits = window[i].kept;
		sink->addr_bits = min_t(u32, sink->addr_bits, fls64(bits));
		bits = bits ? bits >> __ffs64(bits) : 0;
		/* contiguous ones */
		if (bits && !(bits & (bits + 1)))
			continue;
		ntrace_log(err, comp, ": %s does not keep addresses (0x%llx of all ones)",
			   window[i].name, window[i].kept);
		return -EOPNOTSUPP;
	}

	return 0;
}

static int ntrace_ramsink_probe_smem(struct ntrace_ramsink *sink,
				     const struct ntrace_ramsink_range *range)
{
	struct ntrace_component *comp = &sink->comp;
	struct device_node *np __free(device_node) =
		of_parse_phandle(comp->dev->of_node, "memory-region", 0);
	bool fixed = range->start_min == range->start_max;
	bool pool = np && !fixed && ntrace_ramsink_is_pool(np);
	int ret;

	if (np && !pool)
		return ntrace_ramsink_probe_region(sink, np, range);
	if (fixed)
		return ntrace_ramsink_probe_fixed(sink, range);

	ret = ntrace_ramsink_probe_anywhere(sink, range);
	if (ret)
		return ret;

	ret = dma_set_mask_and_coherent(comp->dev, DMA_BIT_MASK(sink->addr_bits));
	if (!ret && pool)
		ret = ntrace_ramsink_use_pool(sink);
	if (ret)
		ntrace_log(err, comp, ": no memory within its %u address bits", sink->addr_bits);
	/* Windows in the AUX area begin at any unit. A bounce buffer is aligned to its size. */
	sink->copied = copy || pool || dma_addressing_limited(comp->dev) ||
		       1ULL << __ffs64(range->start_max) > sink->align;

	return ret;
}

/*
 * How many bytes the sink writes at a time. The write pointer may count in smaller steps. For an
 * unknown implementation assume the largest unit, unless Limit is fixed.
 */
static void ntrace_ramsink_choose_unit(struct ntrace_ramsink *sink,
				       const struct ntrace_ramsink_range *range,
				       const struct ntrace_variant *variant)
{
	bool smem = sink->control & TR_RAM_CONTROL_MODE_SMEM;
	bool fixed = range->limit_min == range->limit_max || range->start_min == range->start_max;

	if (!smem)
		sink->align = sizeof(u32);
	if (variant && variant->align) {
		sink->align = variant->align;
	} else if (!variant && smem && !fixed && sink->align < NTRACE_UNIT_MAX) {
		sink->align = NTRACE_UNIT_MAX;
		sink->unit_unknown = true;
		/* Do not let the sink wrap: there could be a gap in a message. */
		sink->rewinds = true;
	}
}

static int ntrace_ramsink_probe(struct ntrace_component *comp)
{
	const struct ntrace_variant *variant = device_get_match_data(comp->dev);
	struct ntrace_ramsink *sink = to_ntrace_ramsink(comp);
	struct ntrace_ramsink_range range;
	int ret;

	if (variant) {
		sink->settles = variant->settles;
		sink->wp_exact = variant->wp_exact;
		sink->rewinds = variant->rewinds;
		sink->wrap_sticks = variant->wrap_sticks;
		sink->headroom = variant->headroom;
		sink->overruns = variant->overruns && sink->control & TR_RAM_CONTROL_MODE_SMEM;
	}
	sink->has_high = ntrace_has_register(comp, TR_RAM_START_HIGH);
	sink->window_max = dev_is_dma_coherent(comp->dev) ? U64_MAX : NTRACE_BATCH;
	/* A separate lockdep class: the lock of a funnel nests in this one. */
	raw_spin_lock_init(&comp->lock);
	sink->kept_by = -1;
	if (comp->version0)
		return ntrace_version0_probe_sink(sink);
	ret = ntrace_ramsink_probe_mode(sink);
	if (ret)
		return ret;

	ntrace_ramsink_try_window(sink, &range);
	ntrace_ramsink_choose_unit(sink, &range, variant);
	sink->store.fixed = range.limit_min == range.limit_max;
	if (sink->align > PAGE_SIZE || sink->addr_bits < 10) {
		ntrace_log(err, comp,
			   ": %u address bits, %u bytes at a time are more or less than can be used",
			   sink->addr_bits, sink->align);
		return -EOPNOTSUPP;
	}

	return sink->control & TR_RAM_CONTROL_MODE_SMEM ? ntrace_ramsink_probe_smem(sink, &range) :
							  ntrace_ramsink_probe_sram(sink, &range);
}

/* Bounce buffers */

/* Memory of a pool may have no struct page, so it cannot be synced: allocate it coherent. */
static void *ntrace_ramsink_store_memory(struct ntrace_ramsink *sink, size_t size)
{
	gfp_t gfp = GFP_KERNEL | __GFP_NOWARN;

	if (sink->store.pool)
		return dma_alloc_coherent(sink->comp.dev, size, &sink->store.bus, gfp);

	return dma_alloc_noncoherent(sink->comp.dev, size, &sink->store.bus, DMA_FROM_DEVICE, gfp);
}

static int ntrace_ramsink_store_alloc(struct ntrace_ramsink *sink)
{
	struct ntrace_ramsink_store *store = &sink->store;
	size_t size;

	for (size = NTRACE_STORE_SIZE; size >= NTRACE_STORE_MIN; size /= 2) {
		store->cpu = ntrace_ramsink_store_memory(sink, size);
		if (!store->cpu)
			continue;
		store->size = size;
		store->dma = true;
		return 0;
	}

	ntrace_log(err_ratelimited, &sink->comp, ": no memory to copy from");
	return -ENOMEM;
}

/* Get a reference to the bounce buffer, and allocate it if necessary */
int ntrace_ramsink_store_get(struct ntrace_ramsink *sink)
{
	int ret = 0;

	guard(mutex)(&ntrace_store_lock);
	if (!sink->store.size)
		ret = ntrace_ramsink_store_alloc(sink);
	if (!ret)
		sink->store.users++;

	return ret;
}

/* Drop a reference of ntrace_ramsink_store_get() */
void ntrace_ramsink_store_put(struct ntrace_ramsink *sink)
{
	struct ntrace_ramsink_store *store = &sink->store;

	guard(mutex)(&ntrace_store_lock);
	if (--store->users || !store->dma)
		return;

	if (store->pool)
		dma_free_coherent(sink->comp.dev, store->size, store->cpu, store->bus);
	else
		dma_free_noncoherent(sink->comp.dev, store->size, store->cpu, store->bus,
				     DMA_FROM_DEVICE);
	*store = (struct ntrace_ramsink_store) { .fixed = store->fixed, .pool = store->pool };
}

/* The CPU is about to read trace from the bounce buffer. */
void ntrace_ramsink_fetch(struct ntrace_ramsink *sink, u64 from, u64 size)
{
	if (sink->store.dma && !sink->store.pool)
		dma_sync_single_range_for_cpu(sink->comp.dev, sink->store.bus, from, size,
					      DMA_FROM_DEVICE);
	else
		dma_rmb();
	if (ntrace_ramsink_is_sram(sink))
		ntrace_write(&sink->comp, TR_RAM_RP_LOW,
			     lower_32_bits(sink->store.bus + from));
}

/*
 * Copy whole words of trace from an offset in the bounce buffer: the offset of the last
 * ntrace_ramsink_fetch(), or the end of the last copy. A sink with SRAM must be disabled and empty.
 */
void ntrace_ramsink_copy(struct ntrace_ramsink *sink, u64 from, void *to, u64 size)
{
	u32 *words = to;
	u64 i;

	if (!ntrace_ramsink_is_sram(sink)) {
		memcpy(to, sink->store.cpu + from, size);
		return;
	}
	for (i = 0; i < size / sizeof(*words); i++)
		words[i] = ntrace_read(&sink->comp, TR_RAM_DATA);
}

/* The sink is about to write to its bounce buffer again. Its window is set. */
void ntrace_ramsink_hand_back(struct ntrace_ramsink *sink)
{
	if (sink->store.dma && !sink->store.pool)
		dma_sync_single_for_device(sink->comp.dev, sink->store.bus, sink->size,
					   DMA_FROM_DEVICE);
}

/* Software could not clear Wrap: try a reset. Return: whether the window is set now */
static bool ntrace_ramsink_unstick(struct ntrace_ramsink *sink, u64 start, u64 limit, u64 wp)
{
	u64 size = sink->size;
	u32 control = sink->control;

	if (ntrace_component_reset(&sink->comp))
		return false;

	sink->state = NTRACE_SINK_ARMED;
	sink->control = control;
	sink->start = start;
	sink->limit = limit;
	sink->size = size;
	ntrace_write(&sink->comp, TR_RAM_CONTROL, control);
	ntrace_ramsink_write64(sink, TR_RAM_START_LOW, start);
	ntrace_ramsink_write64(sink, TR_RAM_LIMIT_LOW, limit);
	ntrace_ramsink_write64(sink, sink->layout->wp, wp);

	return ntrace_ramsink_keeps(sink, TR_RAM_START_LOW, start) &&
	       ntrace_ramsink_keeps(sink, TR_RAM_LIMIT_LOW, limit) &&
	       ntrace_ramsink_keeps(sink, sink->layout->wp, wp);
}

/*
 * The sink did not keep its window. If it were enabled, it could write to any memory. Report the
 * register that differs.
 */
static noinline int ntrace_ramsink_refuse(struct ntrace_ramsink *sink, u64 start, u64 limit, u64 wp)
{
	const struct {
		const char *high, *low;
		u32 reg;
		u64 want;
	} window[] = {
		{ "trRamStartHigh to be kept", "trRamStartLow to be kept", TR_RAM_START_LOW,
		  start },
		{ "trRamLimitHigh to be kept", "trRamLimitLow to be kept", TR_RAM_LIMIT_LOW,
		  limit },
		{ "trRamWPHigh to be kept", "trRamWPLow to be kept", sink->layout->wp, wp },
	};
	unsigned int i;
	u64 got;

	got = ntrace_read(&sink->comp, sink->layout->wp);
	if (got == (lower_32_bits(wp) | TR_RAM_WP_LOW_WRAP) &&
	    ntrace_ramsink_unstick(sink, start, limit, wp))
		return 0;

	sink->state = NTRACE_SINK_OFF;
	sink->size = 0;
	for (i = 0; i < ARRAY_SIZE(window); i++) {
		if (ntrace_ramsink_keeps(sink, window[i].reg, window[i].want))
			continue;
		got = ntrace_ramsink_read64(sink, window[i].reg);
		if (lower_32_bits(got) != lower_32_bits(window[i].want))
			ntrace_component_complain(&sink->comp, window[i].low, lower_32_bits(got));
		else
			ntrace_component_complain(&sink->comp, window[i].high, upper_32_bits(got));
		break;
	}

	return -EIO;
}

static bool ntrace_ramsink_high_is(struct ntrace_ramsink *sink, u64 start, u64 limit, u64 wp)
{
	struct ntrace_component *comp = &sink->comp;

	return ntrace_read(comp, TR_RAM_START_HIGH) == upper_32_bits(start) &&
	       (!sink->layout->highs ||
		(ntrace_read(comp, TR_RAM_LIMIT_HIGH) == upper_32_bits(limit) &&
		 ntrace_read(comp, TR_RAM_WP_HIGH) == upper_32_bits(wp)));
}

/*
 * Set the window, or the ring, of a sink that is disabled and empty. Bus address and size are
 * multiples of the sink's unit. Write Start before Limit, because the range of Limit may depend on
 * Start. Return: 0, or -EIO when the sink did not keep the window and must not be enabled
 */
static __always_inline int ntrace_ramsink_set(struct ntrace_ramsink *sink, u64 start, u64 size,
					      u64 at)
{
	struct ntrace_component *comp = &sink->comp;
	const struct ntrace_ramsink_layout *layout = sink->layout;
	u64 limit = start + size - sink->align, wp = start + at;
	bool high = sink->has_high &&
		    (!sink->size || upper_32_bits((start ^ sink->start) | (limit ^ sink->limit)));
	u32 got;

	if (ntrace_ramsink_go(sink, NTRACE_SINK_SET))
		return -EIO;

	if (high)
		ntrace_write(comp, TR_RAM_START_HIGH, upper_32_bits(start));
	if (high && layout->highs) {
		ntrace_write(comp, TR_RAM_LIMIT_HIGH, upper_32_bits(limit));
		ntrace_write(comp, TR_RAM_WP_HIGH, upper_32_bits(wp));
	}
	ntrace_write_relaxed(comp, TR_RAM_START_LOW, lower_32_bits(start));
	ntrace_write_relaxed(comp, TR_RAM_LIMIT_LOW, lower_32_bits(limit));
	ntrace_write_relaxed(comp, layout->wp, lower_32_bits(wp));

	sink->start = start;
	sink->limit = limit;
	sink->size = size;
	sink->guard = NULL;
	if (ntrace_read_relaxed(comp, TR_RAM_START_LOW) == lower_32_bits(start) &&
	    ntrace_read_relaxed(comp, TR_RAM_LIMIT_LOW) == lower_32_bits(limit) &&
	    (layout->highs || ntrace_version0_reaches(start, limit)) &&
	    (!high || ntrace_ramsink_high_is(sink, start, limit, wp))) {
		got = ntrace_read_relaxed(comp, layout->wp);
		sink->stuck = sink->wrap_sticks ? got & TR_RAM_WP_LOW_WRAP : 0;
		if (got == (lower_32_bits(wp) | sink->stuck))
			return 0;
	}

	return ntrace_ramsink_refuse(sink, start, limit, wp);
}

/* Set the window. Return: as ntrace_ramsink_set() */
int ntrace_ramsink_set_window(struct ntrace_ramsink *sink, u64 start, u64 size)
{
	if (sink->overruns)
		sink->control &= ~sink->layout->stop_on_wrap;
	else
		sink->control |= sink->layout->stop_on_wrap;

	return ntrace_ramsink_set(sink, start, size, 0);
}

/* Set a ring, and the offset at which to begin. Return: as ntrace_ramsink_set() */
int ntrace_ramsink_set_ring(struct ntrace_ramsink *sink, u64 start, u64 size, u64 at)
{
	sink->control &= ~sink->layout->stop_on_wrap;

	return ntrace_ramsink_set(sink, start, size, at);
}

/*
 * The first read did not show Enable=1. When the encoder is on already, it may fill a small window
 * at once. A sink that stops on wrap is then disabled again before the first read, and Wrap is set.
 * Return: 0, or -ETIMEDOUT after ntrace_component_fail()
 */
int ntrace_ramsink_wait_started(struct ntrace_ramsink *sink)
{
	struct ntrace_component *comp = &sink->comp;
	struct ntrace_deadline deadline = {};
	u32 control;

	do {
		control = ntrace_read(comp, TR_RAM_CONTROL);
		if (control & TR_CONTROL_ENABLE)
			return 0;
		if ((sink->control & sink->layout->stop_on_wrap) &&
		    (ntrace_read(comp, sink->layout->wp) ^ sink->stuck) & TR_RAM_WP_LOW_WRAP)
			return 0;
	} while (!ntrace_deadline_passed(&deadline));

	return ntrace_component_fail(comp, "Enable=1", control);
}

static int ntrace_ramsink_enable(struct ntrace_component *comp, unsigned int input)
{
	return ntrace_ramsink_start(to_ntrace_ramsink(comp));
}

static int ntrace_ramsink_disable(struct ntrace_component *comp)
{
	return ntrace_ramsink_stop(to_ntrace_ramsink(comp));
}

static bool ntrace_ramsink_busy(const struct ntrace_component *comp)
{
	const struct ntrace_ramsink *sink = container_of_const(comp, struct ntrace_ramsink, comp);

	return !comp->failed && ntrace_sink_next(sink->state, NTRACE_SINK_RESET) < 0;
}

/* Has an enabled sink stopped at the end of its window? */
bool ntrace_ramsink_stopped(struct ntrace_ramsink *sink)
{
	return !(ntrace_read(&sink->comp, TR_RAM_CONTROL) & TR_CONTROL_ENABLE) ||
	       (!sink->layout->falls && (sink->control & sink->layout->stop_on_wrap) &&
		ntrace_read(&sink->comp, sink->layout->wp) & TR_RAM_WP_LOW_WRAP);
}

/* WP is outside of the window. Return: an error, after ntrace_component_fail() */
int ntrace_ramsink_lost_way(struct ntrace_ramsink *sink)
{
	return ntrace_component_fail(&sink->comp, "trRamWP to stay inside the window",
				     ntrace_read(&sink->comp, sink->layout->wp));
}

/*
 * Get the offset in the ring that the sink writes next, and whether it has wrapped since the ring
 * was set. Return: false when WP is outside of the ring
 */
bool ntrace_ramsink_ring_at(struct ntrace_ramsink *sink, u64 *at, bool *wrapped)
{
	u32 wp = ntrace_read(&sink->comp, sink->layout->wp);

	*at = (u32)((wp & TR_RAM_WP_LOW_ADDR) - lower_32_bits(sink->start));
	*wrapped = wp & TR_RAM_WP_LOW_WRAP;

	return *at < sink->size;
}

/* Memory of a region or a pool has no streaming mapping, and may have no struct page. */
static bool ntrace_ramsink_syncs(const struct ntrace_ramsink *sink)
{
	return !sink->copied || (sink->store.dma && !sink->store.pool);
}

/* Write a pattern to the last unit of the window. An overrun overwrites it. The window is set. */
void ntrace_ramsink_set_guard(struct ntrace_ramsink *sink, void *unit)
{
	struct device *dev = sink->comp.dev;
	bool syncs = ntrace_ramsink_syncs(sink);

	sink->guard = unit;
	sink->guard_bus = sink->start + sink->size - sink->align;
	if (syncs)
		dma_sync_single_for_cpu(dev, sink->guard_bus, sink->align, DMA_FROM_DEVICE);
	memset(unit, NTRACE_UNWRITTEN_BYTE, sink->align);
	if (syncs)
		dma_sync_single_for_device(dev, sink->guard_bus, sink->align, DMA_FROM_DEVICE);
}

/*
 * Has the sink, which is off, overrun its window? Then it has wrapped to the beginning and
 * overwritten unread trace.
 */
bool ntrace_ramsink_overran(struct ntrace_ramsink *sink)
{
	if (!sink->guard)
		return false;
	if (ntrace_ramsink_syncs(sink))
		dma_sync_single_for_cpu(sink->comp.dev, sink->guard_bus, sink->align,
					DMA_FROM_DEVICE);
	else
		dma_rmb();

	return memchr_inv(sink->guard, NTRACE_UNWRITTEN_BYTE, sink->align);
}

/* sysfs */

NTRACE_ATTR(ramsink, address_bits, "%u", this->addr_bits);
NTRACE_ATTR(ramsink, write_width, "%u", this->align);
NTRACE_ATTR(ramsink, mode, "%s", this->control & this->layout->mode ? "smem" : "sram");
NTRACE_ATTR(ramsink, size, "%llu", this->store.dma ? 0 : this->store.size);

static const struct attribute_group ntrace_ramsink_group = {
	.attrs	= (struct attribute *[]) {
		&dev_attr_address_bits.attr,
		&dev_attr_write_width.attr,
		&dev_attr_mode.attr,
		&dev_attr_size.attr,
		NULL
	},
};

const struct ntrace_component_type ntrace_ramsink_type = {
	.name		= "RAM sink",
	.id		= TR_COMP_RAMSINK,
	.ends		= true,
	.size		= sizeof(struct ntrace_ramsink),
	.reset		= ntrace_ramsink_reset,
	.probe		= ntrace_ramsink_probe,
	.enable		= ntrace_ramsink_enable,
	.disable	= ntrace_ramsink_disable,
	.busy		= ntrace_ramsink_busy,
	.group		= &ntrace_ramsink_group,
};
