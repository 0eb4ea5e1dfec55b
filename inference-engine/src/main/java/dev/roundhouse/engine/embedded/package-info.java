/**
 * The engine, embedded in your program: {@link dev.roundhouse.engine.embedded.Roundhouse} loads
 * bundles and answers, without a server, a port or a framework. Nothing in the engine calls this
 * package; it may be called from any thread.
 */
@NullMarked
package dev.roundhouse.engine.embedded;

import org.jspecify.annotations.NullMarked;
