/**
 * The engine: everything that decides. {@link dev.roundhouse.engine.RequestPath} shows a request's
 * way from top to bottom; {@link dev.roundhouse.engine.Engine} is how others use it.
 */
@NullMarked
package dev.roundhouse.engine;

import org.jspecify.annotations.NullMarked;
