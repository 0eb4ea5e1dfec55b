/** Names, ports and command lines of all processes, decided before anything starts. */
@NullMarked
package dev.roundhouse.node.plan;

import org.jspecify.annotations.NullMarked;
