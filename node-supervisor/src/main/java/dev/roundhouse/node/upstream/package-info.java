/**
 * Reads the files and variables of ReactantServer.jl, for users who migrate: one table maps each
 * key to ours. A key without an equivalent is refused, with what to do instead. Pure but for
 * reading the files.
 */
@NullMarked
package dev.roundhouse.node.upstream;

import org.jspecify.annotations.NullMarked;
