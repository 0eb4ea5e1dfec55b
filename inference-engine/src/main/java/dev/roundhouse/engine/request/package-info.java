/**
 * First station of a request's way: the request itself, its states and its one terminal outcome. A
 * transport creates a request and gets the outcome; between the two the engine owns it.
 */
@NullMarked
package dev.roundhouse.engine.request;

import org.jspecify.annotations.NullMarked;
