/**
 * One lane per model: its queue, its programs, its plan of the next batch; which lane runs next;
 * and how a request ends that is not run. Owned by the dispatch thread, which {@link Lanes} checks.
 */
@NullMarked
package dev.roundhouse.engine.lane;

import org.jspecify.annotations.NullMarked;
