/**
 * A bundle as a whole: which files a model's folder holds, whether they are complete, unchanged and
 * inside the folder, and whether its programs fit its manifest and weights. Composes the packages
 * below it; a {@link dev.roundhouse.bundle.Bundle} is owned by whoever read it.
 */
@NullMarked
package dev.roundhouse.bundle;

import org.jspecify.annotations.NullMarked;
