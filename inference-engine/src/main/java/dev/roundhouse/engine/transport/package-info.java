/**
 * The ways in: what a transport is made of, and what the server gives it. Public and kept stable:
 * people write transports of their own against this package, {@code engine.request}, {@code
 * engine.model.ModelStatus} and {@code model-bundle}, and put them beside a worker as a jar. A
 * transport owns its sockets and its threads; everything it is given here may be called by any
 * thread and does not block, unless it says otherwise.
 */
@NullMarked
package dev.roundhouse.engine.transport;

import org.jspecify.annotations.NullMarked;
