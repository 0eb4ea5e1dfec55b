/** Where workers are found: a list, a name's addresses, a file, a Kubernetes service. */
@NullMarked
package dev.roundhouse.gateway.discovery;

import org.jspecify.annotations.NullMarked;
