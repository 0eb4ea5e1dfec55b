/**
 * Everything an operator can set, as records with their defaults and bounds beside the fields, and
 * the check that refuses keys nobody reads. Values only; bound once at start-up, immutable after.
 */
@NullMarked
package dev.roundhouse.worker.config;

import org.jspecify.annotations.NullMarked;
