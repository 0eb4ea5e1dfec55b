/** REST: inference is passed on to one worker, the rest is answered as gRPC's calls are. */
@NullMarked
package dev.roundhouse.gateway.rest;

import org.jspecify.annotations.NullMarked;
