/**
 * Batches: the slots they are made up in, the choice of their rows, the copy of their inputs. A
 * batch that has not started can be taken apart again. Owned by the dispatch thread.
 */
@NullMarked
package dev.roundhouse.engine.batch;

import org.jspecify.annotations.NullMarked;
