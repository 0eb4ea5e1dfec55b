/**
 * What a worker's live page shows. However many pages are open, the engine is looked at once a
 * second ({@link dev.roundhouse.worker.page.Moments}), and not at all while none is.
 */
@NullMarked
package dev.roundhouse.worker.page;

import org.jspecify.annotations.NullMarked;
