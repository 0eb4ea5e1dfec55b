/**
 * Checks a request against the model's contract and the server's limits, on the caller's thread,
 * before anything is queued. Refuses early and cheaply, with the text that KServe clients expect.
 */
@NullMarked
package dev.roundhouse.engine.admission;

import org.jspecify.annotations.NullMarked;
