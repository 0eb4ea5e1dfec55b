/**
 * Fixtures: small bundles in a temporary folder, and an engine that runs on the test's own thread.
 */
@NullMarked
package dev.roundhouse.engine.testing;

import org.jspecify.annotations.NullMarked;
