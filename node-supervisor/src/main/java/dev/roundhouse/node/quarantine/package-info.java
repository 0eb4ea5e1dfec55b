/** Which bundles are left out because their worker died over them, once too often. */
@NullMarked
package dev.roundhouse.node.quarantine;

import org.jspecify.annotations.NullMarked;
