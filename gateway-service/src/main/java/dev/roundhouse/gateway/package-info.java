/**
 * One endpoint over many workers: finds them, places models on them, and sends each request on to
 * one. Holds no model.
 */
@NullMarked
package dev.roundhouse.gateway;

import org.jspecify.annotations.NullMarked;
