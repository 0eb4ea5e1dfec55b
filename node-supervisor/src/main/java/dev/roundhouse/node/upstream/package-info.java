/**
 * Understands the files and variables of ReactantServer.jl, from which people come: one table says
 * what each key is here. What has no equal is refused, with the way to say it. Pure but for reading
 * the files.
 */
@NullMarked
package dev.roundhouse.node.upstream;

import org.jspecify.annotations.NullMarked;
