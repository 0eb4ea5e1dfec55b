/**
 * Our engine against the Triton core, each in a process of its own with models that do nothing, so
 * that what is left is what the engine itself costs. The two processes take the same lines and
 * answer with the same fields; {@link dev.roundhouse.benchmarks.engine.EngineSuite} lists what is
 * measured.
 */
@NullMarked
package dev.roundhouse.benchmarks.engine;

import org.jspecify.annotations.NullMarked;
