/**
 * What REST has in common in all applications: JSON, refusals, and clients that must not be slow.
 */
@NullMarked
package dev.roundhouse.platform.rest;

import org.jspecify.annotations.NullMarked;
