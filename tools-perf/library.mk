# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# One of the libraries alone: NAME.a and NAME.so in O=DIR (default: build/host of the
# project). "make install" puts it under DESTDIR and PREFIX. Included by the Makefile in
# its folder, which sets
#	here	that folder
#	library	its name, such as libntrace; NAME.map and NAME.pc.in are beside it
#	parts	its objects
#	headers	what a program that uses it includes
#	wants	what it is linked with; -lntrace if it is made on libntrace
#	uses	options of the compiler, if it wants any of its own
#	private	what only its static library is linked with, for NAME.pc.in

decoder	:= $(abspath $(here)/../ntrace-decoder)
O	?= $(abspath $(here)/../../..)/build/host

# All have the version of libntrace. soname: libntrace.so.0; symbols' versions are in NAME.map
version	:= $(shell sed -n 's/^.define LIBNTRACE_VERSION_[MP][^0-9]*//p' $(decoder)/ntrace.h | \
	     paste -sd.)
soname	:= $(library).so.$(firstword $(subst ., ,$(version)))

PREFIX	?= /usr/local
LIBDIR	?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
INSTALL	?= install

CC	?= gcc
AR	?= ar
CFLAGS	?= -O2 -g
flags	:= -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes \
	   -Wdeclaration-after-statement -Wshadow -Wwrite-strings -fPIC
ifneq ($(WERROR),0)
flags	+= -Werror
endif
flags	+= $(uses)

objects	:= $(addprefix $(O)/obj/$(library)/,$(parts))

all: $(O)/$(library).a $(O)/$(library).so $(O)/$(soname) $(O)/$(library).pc

ifneq ($(filter -lntrace,$(wants)),)
flags	+= -I$(decoder)
wants	:= -L$(O) $(wants)
$(O)/$(library).so: $(O)/libntrace.so
$(O)/libntrace.so:
	$(MAKE) -C $(decoder) O=$(O)
endif

$(O)/$(library).a: $(objects)
	rm -f $@
	$(AR) rcs $@ $^

$(O)/$(library).so: $(objects) $(here)/$(library).map
	$(CC) $(CFLAGS) -shared -Wl,-soname,$(soname) -Wl,--version-script=$(here)/$(library).map \
		-Wl,-z,defs -o $@ $(objects) $(LDFLAGS) $(wants)

# so that programs run with what is in O
$(O)/$(soname):
	@mkdir -p $(O)
	ln -sf $(library).so $@

# PREFIX may be another one than last time
$(O)/$(library).pc: $(here)/$(library).pc.in FORCE
	@mkdir -p $(O)
	@sed -e 's|@prefix@|$(PREFIX)|' -e 's|@libdir@|$(LIBDIR)|' \
		-e 's|@includedir@|$(INCLUDEDIR)|' -e 's|@version@|$(version)|' \
		-e 's|@private@|$(private)|' $< >$@

$(O)/obj/$(library)/%.o: $(here)/%.c
	@mkdir -p $(@D)
	$(CC) $(flags) $(CFLAGS) -MMD -MP -c -o $@ $<

install: all
	$(INSTALL) -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)/ntrace
	$(INSTALL) -m 644 $(O)/$(library).a $(DESTDIR)$(LIBDIR)
	$(INSTALL) -m 755 $(O)/$(library).so $(DESTDIR)$(LIBDIR)/$(library).so.$(version)
	ln -sf $(library).so.$(version) $(DESTDIR)$(LIBDIR)/$(soname)
	ln -sf $(soname) $(DESTDIR)$(LIBDIR)/$(library).so
	$(INSTALL) -m 644 $(O)/$(library).pc $(DESTDIR)$(LIBDIR)/pkgconfig
	$(INSTALL) -m 644 $(addprefix $(here)/,$(headers)) $(DESTDIR)$(INCLUDEDIR)/ntrace

clean:
	rm -rf $(O)/obj/$(library) $(O)/$(library).a $(O)/$(library).so $(O)/$(soname) \
		$(O)/$(library).pc

-include $(objects:.o=.d)
.PHONY: all install clean FORCE
