/** What a node adds to its workers: the gateway before them, beside the proxies that others use. */
@NullMarked
package dev.roundhouse.benchmarks.node;

import org.jspecify.annotations.NullMarked;
