/**
 * The one thread that runs models: takes requests from the queues, assembles a batch in a staging
 * slot, executes it, slices the outputs, delivers the outcomes. {@link
 * dev.roundhouse.engine.dispatch.DispatchLoop#doWork} is called by that thread, or by a test.
 */
@NullMarked
package dev.roundhouse.engine.dispatch;

import org.jspecify.annotations.NullMarked;
