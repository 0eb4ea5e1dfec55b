/** Requests, models and calls made up, for tests of hooks and metas without a server. */
@NullMarked
package dev.roundhouse.hooks.testing;

import org.jspecify.annotations.NullMarked;
