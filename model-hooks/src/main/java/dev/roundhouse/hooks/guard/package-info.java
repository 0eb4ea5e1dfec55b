/** Not to be called: the server puts this in place of what a bundle's code must not do. */
@NullMarked
package dev.roundhouse.hooks.guard;

import org.jspecify.annotations.NullMarked;
