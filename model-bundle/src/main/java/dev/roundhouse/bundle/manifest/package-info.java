/**
 * Reads {@code manifest.yaml} of formats 2.0 and 3 into one {@link
 * dev.roundhouse.bundle.model.ModelSpec}, row-major whatever the file says. Hostile YAML is refused
 * by limits; all problems of a manifest are reported at once, each with its key path. Pure
 * functions over one file; any thread.
 */
@NullMarked
package dev.roundhouse.bundle.manifest;

import org.jspecify.annotations.NullMarked;
