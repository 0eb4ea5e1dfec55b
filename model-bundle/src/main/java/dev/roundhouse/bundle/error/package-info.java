/**
 * How a bundle is refused: one exception that names the file and every reason. Lowest of the bundle
 * packages, so that each of them may throw it; depends on nothing.
 */
@NullMarked
package dev.roundhouse.bundle.error;

import org.jspecify.annotations.NullMarked;
