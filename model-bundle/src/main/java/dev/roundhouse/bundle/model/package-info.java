/**
 * What a model is, as its manifest says it, whichever format the manifest was written in: named
 * tensors, compiled batch sizes, shape variants, the author's serving defaults. Row-major. Values
 * only; immutable and thread-safe.
 */
@NullMarked
package dev.roundhouse.bundle.model;

import org.jspecify.annotations.NullMarked;
