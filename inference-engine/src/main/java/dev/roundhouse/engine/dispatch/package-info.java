/**
 * The one thread that runs models, and the pipeline of three batch slots that it turns: one batch
 * armed, one on the device, one being answered. {@link
 * dev.roundhouse.engine.dispatch.DispatchLoop#doWork} is called by that thread, or by a test.
 * Unless marked for any thread, everything belongs to that thread: {@link
 * dev.roundhouse.engine.thread.OwnerThread} checks it. Beside it, {@code outputs} delivers large
 * answers and {@code watchdog} ends an engine that hangs.
 */
@NullMarked
package dev.roundhouse.engine.dispatch;

import org.jspecify.annotations.NullMarked;
