/** TLS of servers by Spring's SSL bundles, which may be renewed while they serve. */
@NullMarked
package dev.roundhouse.platform.tls;

import org.jspecify.annotations.NullMarked;
