/** Which devices the machine has, and how full they are. */
@NullMarked
package dev.roundhouse.node.devices;

import org.jspecify.annotations.NullMarked;
