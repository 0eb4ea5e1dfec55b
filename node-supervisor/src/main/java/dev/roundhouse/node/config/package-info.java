/** Bound configuration of the node. */
@NullMarked
package dev.roundhouse.node.config;

import org.jspecify.annotations.NullMarked;
