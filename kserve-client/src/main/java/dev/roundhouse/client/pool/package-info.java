/** Memory that is handed out in pieces and comes back: staging of requests and answers. */
@NullMarked
package dev.roundhouse.client.pool;

import org.jspecify.annotations.NullMarked;
