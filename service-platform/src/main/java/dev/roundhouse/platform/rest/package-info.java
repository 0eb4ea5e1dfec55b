/**
 * The protocol over HTTP but inference: one table of routes ({@code ControlTable}) for all
 * applications, answered by their own gRPC services on virtual threads. And what the operators'
 * port needs of Tomcat. Owns no state but what a request holds.
 */
@NullMarked
package dev.roundhouse.platform.rest;

import org.jspecify.annotations.NullMarked;
