/** Requests and models made up, for tests of hooks without a server. */
@NullMarked
package dev.roundhouse.hooks.testing;

import org.jspecify.annotations.NullMarked;
