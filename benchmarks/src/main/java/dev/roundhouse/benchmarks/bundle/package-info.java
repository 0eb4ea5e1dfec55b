/**
 * Writes the bundles that benches serve: real files with digests, without Python. Stateless but for
 * the files.
 */
@NullMarked
package dev.roundhouse.benchmarks.bundle;

import org.jspecify.annotations.NullMarked;
