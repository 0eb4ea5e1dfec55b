/**
 * How exactly products of f32 are computed: the operator's policy, what a device can do, the
 * rewriting of programs on their way to the compiler, and a probe that sees what the device really
 * does. Used once, before the first model is loaded; what it leaves behind is a device that
 * rewrites. Nothing else of the engine knows of it.
 */
@NullMarked
package dev.roundhouse.engine.numerics;

import org.jspecify.annotations.NullMarked;
