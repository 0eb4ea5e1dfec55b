/**
 * Models from folder to ready: loading, the contract that admission checks requests against, and
 * the registry that maps a name to what serves it.
 */
@NullMarked
package dev.roundhouse.engine.model;

import org.jspecify.annotations.NullMarked;
