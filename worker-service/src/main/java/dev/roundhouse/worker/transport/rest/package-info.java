/** The protocol's health routes over HTTP. Asks the engine; changes nothing. */
@NullMarked
package dev.roundhouse.worker.transport.rest;

import org.jspecify.annotations.NullMarked;
